/**
 * `npm run release -- [--out FOLDER] [--image-base IMAGE] [--no-image] [--platform NAME ...] [--no-executables]`:
 * makes the files of a release from a built checkout: the packages `sluice` and `sluice-worker`, the executables
 * that need no Node with `install.sh`, the image as an archive that `docker load` reads, the packages inside as
 * CycloneDX, and `SHA256SUMS`. Refuses versions that differ and a version without a section in CHANGELOG.md.
 * Nothing is published.
 *
 * Without `--platform` the executables of all platforms are made whose Node npm's registry has; the others are named.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	copyFileSync,
	createReadStream,
	createWriteStream,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readdirSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createGzip } from "node:zlib";
import { injectedFile, PLATFORMS, writeExecutable } from "./single-file/build.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGES = [ROOT, join(ROOT, "packages/worker")];

const { values } = parseArgs({
	options: {
		out: { type: "string", default: join(ROOT, "release") },
		"image-base": { type: "string" },
		"no-image": { type: "boolean", default: false },
		platform: { type: "string", multiple: true },
		"no-executables": { type: "boolean", default: false },
	},
});
const out = resolve(values.out);
for (const platform of values.platform ?? [])
	if (!Object.hasOwn(PLATFORMS, platform))
		throw new Error(`--platform must be one of ${Object.keys(PLATFORMS).join(", ")}; got ${platform}.`);

/** The version that all packages have, once CHANGELOG.md describes it. */
function releasedVersion(): string {
	const versions = PACKAGES.map(
		(folder) => (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version,
	);
	const [version = ""] = versions;
	if (versions.some((each) => each !== version))
		throw new Error(`The packages have different versions: ${versions.join(", ")}.`);
	if (!readFileSync(join(ROOT, "CHANGELOG.md"), "utf8").includes(`\n## ${version} - `))
		throw new Error(`CHANGELOG.md has no section '## ${version} - DATE'.`);
	return version;
}

/** Builds the image and writes it as a compressed archive. */
async function saveImage(version: string): Promise<void> {
	const tag = `sluice:${version}`;
	const base = values["image-base"] === undefined ? [] : ["--build-arg", `BASE=${values["image-base"]}`];
	execFileSync("docker", ["build", "--network", "host", ...base, "-t", tag, ROOT], {
		stdio: ["ignore", "ignore", "inherit"],
	});
	const save = spawn("docker", ["save", tag], { stdio: ["ignore", "pipe", "inherit"], env: process.env });
	const exited = once(save, "exit");
	await pipeline(save.stdout, createGzip(), createWriteStream(join(out, `sluice-${version}-image.tar.gz`)));
	const [code] = await exited;
	if (code !== 0) throw new Error(`docker save ended with code ${String(code)}.`);
}

/** Writes the executables and their installer. A platform that was named has to be made. */
async function makeExecutables(version: string): Promise<void> {
	const work = mkdtempSync(join(tmpdir(), "sluice-executables-"));
	try {
		const injected = await injectedFile(join(out, `sluice-${version}.tgz`), work);
		for (const platform of values.platform ?? Object.keys(PLATFORMS))
			try {
				await writeExecutable(platform, injected, work, join(out, `sluice-${version}-${platform}.gz`));
			} catch (error) {
				if (values.platform) throw error;
				process.stderr.write(`${platform} was not made: ${(error as Error).message}\n`);
			}
		copyFileSync(join(ROOT, "install.sh"), join(out, "install.sh"));
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}

async function sha256(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path), hash);
	return hash.digest("hex");
}

const version = releasedVersion();
mkdirSync(out, { recursive: true });
const before = readdirSync(out);
if (before.length > 0) throw new Error(`${out} is not empty: remove it, or name another folder with --out.`);
for (const cwd of PACKAGES)
	execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", out], {
		cwd,
		stdio: ["ignore", "ignore", "inherit"],
	});
const sbom = execFileSync(process.execPath, [join(ROOT, "scripts/sbom.ts")], { maxBuffer: 64 * 2 ** 20 });
writeFileSync(join(out, `sluice-${version}.cdx.json`), sbom);
if (!values["no-executables"]) await makeExecutables(version);
if (!values["no-image"]) await saveImage(version);

const files = readdirSync(out).toSorted();
const sums = await Promise.all(files.map(async (name) => `${await sha256(join(out, name))}  ${name}\n`));
writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
for (const name of [...files, "SHA256SUMS"])
	process.stdout.write(`${name} ${(statSync(join(out, name)).size / 1000).toFixed(0)} kB\n`);
