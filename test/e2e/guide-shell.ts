/** Shell blocks of the documentation, and the shell that runs them as a reader would. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { KEY } from "../support/service.ts";
import { SLUICE } from "./command.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block. */
export interface Block {
	page: string;
	/** Of the opening fence, counted from 1. */
	line: number;
	language: string;
	text: string;
	/** Why it is not run here, or what runs it: the comment `<!-- not run: ... -->` before it. */
	notRun?: string;
}

/** Documents for readers of which shell blocks are run. */
export function pagesWithShell(): string[] {
	const below = (folder: string): string[] =>
		readdirSync(join(ROOT, folder))
			.filter((name) => name.endsWith(".md"))
			.map((name) => `${folder}/${name}`);
	return [
		...["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md", "deploy/README.md"],
		...below("docs"),
		...below("docs/guides"),
		...below("docs/runbooks"),
	];
}

export function blocksOf(page: string): Block[] {
	const blocks: Block[] = [];
	const lines = readFileSync(join(ROOT, page), "utf8").split("\n");
	for (let at = 0; at < lines.length; at += 1) {
		const language = /^```(\w*)$/.exec(lines[at]!)?.[1];
		if (language === undefined) continue;
		const end = lines.indexOf("```", at + 1);
		const before = lines.slice(0, at).findLast((line) => line !== "") ?? "";
		const notRun = /^<!-- not run: (.+) -->$/.exec(before)?.[1];
		blocks.push({
			page,
			line: at + 1,
			language,
			text: lines.slice(at + 1, end).join("\n"),
			...(notRun === undefined ? {} : { notRun }),
		});
		at = end;
	}
	return blocks;
}

/** Functions under the names of commands: a service runs in the background until the next one. */
const PRELUDE = `
set -euo pipefail
node() { "$TEST_NODE" "$@"; }
npx() { [ "$1" = sluice ] || { command npx "$@"; return; }; shift; sluice "$@"; }
stop() {
  [ -s "$1.pid" ] || return 0
  kill -INT "$(cat "$1.pid")" && wait "$(cat "$1.pid")" || true
  rm "$1.pid"
}
# Workers outlive their service.
end_workers() {
  grep -lzs "^RUNPOD_WEBHOOK_GET_JOB=.*:$TEST_PORT/" /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -9
}
trap 'stop service; stop dev; { end_workers; jobs -p | xargs -r kill; } 2>/dev/null || true' EXIT
# NAME, what it says when it is ready, arguments
background() {
  stop "$1"
  # Else the line of an earlier one could be found before the new one has begun.
  : >"$1.log"
  "$TEST_NODE" "$TEST_SLUICE" "\${@:3}" >"$1.log" 2>&1 &
  echo $! >"$1.pid"
  until grep -qE "$2" "$1.log"; do
    kill -0 "$(cat "$1.pid")" || { cat "$1.log"; return 1; }
    sleep 0.1
  done
}
sluice() {
  case " $* " in
    " serve "*" --port "*) background service 'listens on' "$@" ;;
    " serve "*) background service 'listens on' "$@" --port "$TEST_PORT" ;;
    " dev "*" --test "*) "$TEST_NODE" "$TEST_SLUICE" "$@" --port 0 ;;
    " dev "*) background dev 'try it' "$@" --port 0; stop dev ;;
    " context add "*) printf '%s\\n' "$SLUICE_API_KEY" | "$TEST_NODE" "$TEST_SLUICE" "$@" ;;
    " diff "*|" apply "*) "$TEST_NODE" "$TEST_SLUICE" "$@" ;;
    *" -f "*) timeout --signal=INT 2 "$TEST_NODE" "$TEST_SLUICE" "$@" || [ $? = 124 ] ;;
    *) "$TEST_NODE" "$TEST_SLUICE" "$@" ;;
  esac
}
`;

/** How a reader's machine differs from the one here: what a block says, and what is run. */
export type Replacements = readonly (readonly [said: RegExp, run: string])[];

/** Runs the blocks in one shell; returns what each printed. Rejects when a command fails. */
export async function runBlocks(
	blocks: readonly Block[],
	q: { cwd: string; port: number; before?: string; replace?: Replacements },
): Promise<string[]> {
	const replace: Replacements = [
		...(q.replace ?? []),
		[/(?:127\.0\.0\.1|localhost):8080/g, `127.0.0.1:${q.port}`],
		[/https:\/\/(?:sluice|jobs)\.example\.com/g, `http://127.0.0.1:${q.port}`],
		[/SLUICE_API_KEY=\.\.\./g, 'SLUICE_API_KEY="$SLUICE_API_KEY"'],
	];
	const parts = blocks.map((block) => replace.reduce((script, [said, run]) => script.replace(said, run), block.text));
	const file = join(q.cwd, "blocks.sh");
	const script = parts.map((part) => `printf '\\f'\n${part}\n`).join("");
	writeFileSync(file, `${PRELUDE}${q.before ?? ""}\n${script}`);
	const { FORCE_COLOR: _, ...inherited } = process.env;
	const child = spawn("bash", [file], {
		cwd: q.cwd,
		env: {
			...inherited,
			TEST_NODE: process.execPath,
			TEST_SLUICE: SLUICE,
			TEST_PORT: String(q.port),
			XDG_CONFIG_HOME: join(q.cwd, "config"),
			SLUICE_URL: `http://127.0.0.1:${q.port}`,
			SLUICE_API_KEY: KEY,
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
	const said = Promise.all([text(child.stdout), text(child.stderr)]);
	const [code] = (await once(child, "close")) as [number | null];
	const [stdout, stderr] = await said;
	if (code !== 0) throw new Error(`exit code ${code}\n${stdout}\n${stderr}`);
	return stdout.split("\f").slice(1);
}

/** Writes files into a folder; those that begin with `#!` are executable. */
export function write(folder: string, files: Readonly<Record<string, string>>): void {
	for (const [name, content] of Object.entries(files)) {
		const path = join(folder, name);
		if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, content);
		if (content.startsWith("#!")) chmodSync(path, 0o755);
	}
}
