#!/bin/sh
# Installs sluice as one file that needs no Node, for Linux x64, Linux arm64 and macOS arm64:
#   SLUICE_DOWNLOAD=https://example.com/sluice/0.1.0 sh install.sh [--to DIR]
# SLUICE_DOWNLOAD is the address of a folder with the files of a release. Its file for this machine has to have
# the SHA-256 that SHA256SUMS of this folder has for it. DIR is ~/.local/bin if it is not named.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

platform() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64) echo linux-arm64 ;;
    Darwin-arm64) echo darwin-arm64 ;;
    *) fail "there is no file for $(uname -s) on $(uname -m). Use npm or the container image instead." ;;
  esac
}

# download NAME FILE
download() {
  if has curl; then
    curl -fsSL --retry 2 -o "$2" "$SLUICE_DOWNLOAD/$1"
  elif has wget; then
    wget -q -O "$2" "$SLUICE_DOWNLOAD/$1"
  else
    fail "curl or wget is needed to download."
  fi || fail "cannot download $SLUICE_DOWNLOAD/$1. Check SLUICE_DOWNLOAD and the network."
}

sha256() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    fail "sha256sum or shasum is needed to verify the download."
  fi
}

main() {
  to=${HOME:-}/.local/bin
  while [ $# -gt 0 ]; do
    case $1 in
      --to)
        [ -n "${2:-}" ] || fail "--to needs a folder."
        to=$2
        shift 2
        ;;
      *) fail "unexpected argument '$1'. Usage: SLUICE_DOWNLOAD=ADDRESS sh install.sh [--to DIR]" ;;
    esac
  done
  case $to in
    /.local/bin) fail "HOME is not set: name the folder with --to DIR." ;;
    /*) ;;
    *) to=$PWD/$to ;;
  esac
  SLUICE_DOWNLOAD=${SLUICE_DOWNLOAD:-}
  SLUICE_DOWNLOAD=${SLUICE_DOWNLOAD%/}
  [ -n "$SLUICE_DOWNLOAD" ] || fail "set SLUICE_DOWNLOAD to the address of a folder with the files of a release, such as
  SLUICE_DOWNLOAD=https://example.com/sluice/0.1.0 sh install.sh"
  has gzip || fail "gzip is needed to unpack the download."
  platform=$(platform)

  new=
  work=$(mktemp -d)
  trap 'rm -rf "$work" ${new:+"$new"}' EXIT
  trap 'exit 130' INT TERM HUP

  download SHA256SUMS "$work/SHA256SUMS"
  name=
  while read -r sum file; do
    case $file in
      */*) ;;
      sluice-*-"$platform".gz) name=$file expected=$sum ;;
    esac
  done <"$work/SHA256SUMS"
  [ -n "$name" ] || fail "$SLUICE_DOWNLOAD has no file for $platform."
  echo "Downloading $SLUICE_DOWNLOAD/$name"
  download "$name" "$work/sluice.gz"
  actual=$(sha256 "$work/sluice.gz")
  actual=${actual%% *}
  [ "$actual" = "$expected" ] || fail "$name has the wrong checksum and was not installed.
  expected $expected
  actual   $actual"

  mkdir -p "$to" || fail "cannot create $to. Name another folder with --to DIR."
  new=$to/.sluice-$$
  gzip -dc "$work/sluice.gz" >"$new" || fail "cannot write to $to. It needs 130 MB; name another folder with --to DIR."
  chmod 755 "$new"
  # macOS runs no file whose signature does not match, and the files of Sluice were injected after Node was signed.
  if [ "$platform" = darwin-arm64 ]; then codesign --sign - --force "$new" || fail "codesign cannot sign $new."; fi
  # In a cache of its own: the link to Node would lead to this name, which is gone in a moment.
  version=$(XDG_CACHE_HOME="$work" "$new" --version) ||
    fail "the file does not run here. On Linux it needs glibc 2.28 and libstdc++ (not Alpine's musl)."
  mv -f "$new" "$to/sluice"
  new=
  # Workers of a service that runs start Node by the link that this makes.
  "$to/sluice" --version >/dev/null || fail "$to/sluice is installed, but does not start."
  echo "Installed sluice $version to $to/sluice"
  case ":$PATH:" in
    *":$to:"*) echo "Start it with: sluice serve" ;;
    *) echo "Start it with: $to/sluice serve
To run it as 'sluice', add this line to your shell's profile: export PATH=\"$to:\$PATH\"" ;;
  esac
}

# At the end, so that a download of this script that was cut off does nothing.
main "$@"
