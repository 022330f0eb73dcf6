/**
 * What the executable runs. Under the name `node` it acts as Node for one script, with flags as NODE_OPTIONS
 * takes them; the service starts workers in JavaScript so. Under any other name it is `sluice`.
 */
import { existsSync } from "node:fs";
import { runMain } from "node:module";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { getAsset, getRawAsset } from "node:sea";
import { ARCHIVE, folderOf, INDEX, type Index, linkNode, nodeLink, unpack } from "./unpack.ts";

/** Holds NODE_OPTIONS as it was before the flags of the script were added. */
const EARLIER_OPTIONS = "SLUICE_NODE_OPTIONS";

const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
const index = JSON.parse(getAsset(INDEX, "utf8")) as Index;
const folder = folderOf(cache, index);
// The first word is the executable's path, the second the name that it was called by.
const [executable = "", , ...args] = process.argv;

if (basename(process.argv0) === "node") actAsNode();
else actAsSluice();

function actAsSluice(): void {
	try {
		unpack(folder, index, () => new Uint8Array(getRawAsset(ARCHIVE)));
		linkNode(folder, executable);
	} catch (error) {
		fail(
			`sluice cannot unpack its files to ${folder}: ${(error as Error).message}. ` +
				"Set XDG_CACHE_HOME to a folder that this user can write to; it takes 20 MB.",
		);
	}
	process.execPath = nodeLink(folder);
	// A Node that is installed comes first.
	process.env["PATH"] = [process.env["PATH"] ?? "/usr/bin:/bin", dirname(process.execPath)].join(delimiter);
	runScript(join(folder, "bin/sluice.js"), args);
}

function actAsNode(): void {
	const at = args.findIndex((arg) => !arg.startsWith("-"));
	const flags = at === -1 ? args : args.slice(0, at);
	if (flags.some((flag) => flag === "-v" || flag === "--version")) {
		process.stdout.write(`${process.version}\n`);
		return;
	}
	const script = args[at];
	if (script === undefined) fail("The node of sluice runs scripts only: node [--flag=value ...] FILE [ARGUMENT ...]");
	process.execPath = nodeLink(folder);
	if (!existsSync(process.execPath)) linkHere();
	if (flags.length > 0) runAgain(flags, args.slice(at));
	const earlier = process.env[EARLIER_OPTIONS];
	delete process.env[EARLIER_OPTIONS];
	if (earlier === "") delete process.env["NODE_OPTIONS"];
	else if (earlier !== undefined) process.env["NODE_OPTIONS"] = earlier;
	runScript(resolve(script), args.slice(at + 1));
}

/** After an upgrade under a service that runs, this version may not have run as `sluice` yet. */
function linkHere(): void {
	try {
		linkNode(folder, executable);
	} catch {
		// A script that starts no other Node does not need it.
	}
}

/** Flags count from the start of the process only. */
function runAgain(flags: readonly string[], rest: readonly string[]): never {
	const earlier = process.env["NODE_OPTIONS"] ?? "";
	const quoted = flags.map((flag) => `"${flag.replaceAll(/["\\]/g, String.raw`\$&`)}"`);
	const env = { ...process.env, NODE_OPTIONS: [earlier, ...quoted].join(" "), [EARLIER_OPTIONS]: earlier };
	process.execve!(executable, [process.execPath, ...rest], env);
	throw new Error("execve returned");
}

function runScript(path: string, rest: readonly string[]): void {
	process.argv = [process.execPath, path, ...rest];
	runMain();
}

function fail(message: string): never {
	process.stderr.write(`${message}\n`);
	process.exit(2);
}
