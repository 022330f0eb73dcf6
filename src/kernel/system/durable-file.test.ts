/**
 * Durable files: the order of operations, which shows what a power loss leaves, and what several
 * processes get.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs, {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { createFile, type FileOperations, flushFile, makeFolder, openToOthers, replaceFile } from "./durable-file.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-durable-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let place: string;
let places = 0;
beforeEach(() => mkdirSync((place = join(root, String((places += 1))))));

/**
 * The real operations, recorded with the names of files; `fail` throws an error of this code at an
 * operation.
 */
function recorded(fail: Partial<Record<keyof FileOperations, string>> = {}): {
	ops: FileOperations;
	recordedCalls: string[];
} {
	const recordedCalls: string[] = [];
	const names = new Map<number, string>();
	const shown = (value: unknown): string =>
		(typeof value === "number" ? (names.get(value) ?? "?") : String(value))
			.replace(place, "")
			.replace(/\.[0-9a-f-]{36}\.tmp$/, ".tmp");
	const operation =
		(name: keyof FileOperations) =>
		(...args: unknown[]) => {
			recordedCalls.push(
				[
					name.replace("Sync", ""),
					...args.filter((_, index) => index === 0 || (index === 1 && /^(link|rename)/.test(name))).map(shown),
				].join(" "),
			);
			const code = fail[name];
			if (code !== undefined) throw Object.assign(new Error(code), { code });
			const result = (fs[name] as (...given: unknown[]) => unknown)(...args);
			if (name === "openSync") names.set(result as number, String(args[0]));
			return result;
		};
	const all = [
		"openSync",
		"writeFileSync",
		"fsyncSync",
		"closeSync",
		"linkSync",
		"renameSync",
		"rmSync",
		"mkdirSync",
	] as const;
	return {
		recordedCalls,
		ops: Object.fromEntries(all.map((name) => [name, operation(name)])) as unknown as FileOperations,
	};
}

const mode = (path: string): number => statSync(path).mode & 0o777;
const WRITTEN = ["open /.a.tmp", "writeFile /.a.tmp", "fsync /.a.tmp", "close /.a.tmp"];
const FLUSHED = ["open ", "fsync ", "close "];

it("D17, D22: a new file is flushed before it has its name, and its folder afterwards", () => {
	const { ops, recordedCalls } = recorded();
	expect(createFile(join(place, "a"), "text", ops)).toBe(true);
	expect(recordedCalls).toEqual([...WRITTEN, "link /.a.tmp /a", "rm /.a.tmp", ...FLUSHED]);
	expect([readFileSync(join(place, "a"), "utf8"), mode(join(place, "a")), readdirSync(place)]).toEqual([
		"text",
		0o600,
		["a"],
	]);
});

it("D22: a file that exists stays as it is", () => {
	writeFileSync(join(place, "a"), "first");
	expect(createFile(join(place, "a"), "second")).toBe(false);
	expect([readFileSync(join(place, "a"), "utf8"), readdirSync(place)]).toEqual(["first", ["a"]]);
});

it("D22: does without hard links where the file system has none", () => {
	const { ops, recordedCalls } = recorded({ linkSync: "EPERM" });
	expect(createFile(join(place, "a"), "text", ops)).toBe(true);
	expect(recordedCalls).toEqual([
		...WRITTEN,
		"link /.a.tmp /a",
		"open /a",
		"close /a",
		"rename /.a.tmp /a",
		"rm /.a.tmp",
		...FLUSHED,
	]);
	expect(createFile(join(place, "a"), "other", recorded({ linkSync: "EPERM" }).ops)).toBe(false);
	expect([readFileSync(join(place, "a"), "utf8"), readdirSync(place)]).toEqual(["text", ["a"]]);
});

it.each([
	["writeFileSync", "ENOSPC"],
	["fsyncSync", "EIO"],
	["linkSync", "EIO"],
] as const)("D17: when %s fails there is no file, and no temporary one", (name, code) => {
	expect(() => createFile(join(place, "a"), "text", recorded({ [name]: code }).ops)).toThrow(code);
	expect(readdirSync(place)).toEqual([]);
});

it("D17: a file is replaced as a whole", () => {
	writeFileSync(join(place, "a"), "old");
	const { ops, recordedCalls } = recorded();
	replaceFile(join(place, "a"), "new", ops);
	expect(recordedCalls).toEqual([...WRITTEN, "rename /.a.tmp /a", "rm /.a.tmp", ...FLUSHED]);
	expect([readFileSync(join(place, "a"), "utf8"), mode(join(place, "a"))]).toEqual(["new", 0o600]);
	expect(() => replaceFile(join(place, "a"), "third", recorded({ fsyncSync: "EIO" }).ops)).toThrow("EIO");
	expect([readFileSync(join(place, "a"), "utf8"), readdirSync(place)]).toEqual(["new", ["a"]]);
});

it("D17: another user's file is flushed with its folder, a read-only mount is not, a failing disk is reported", () => {
	writeFileSync(join(place, "a"), "text");
	const { ops, recordedCalls } = recorded();
	flushFile(join(place, "a"), ops);
	expect(recordedCalls).toEqual(["open /a", "fsync /a", "close /a", ...FLUSHED]);
	expect(() => flushFile(join(place, "a"), recorded({ fsyncSync: "EROFS" }).ops)).not.toThrow();
	expect(() => flushFile(join(place, "a"), recorded({ fsyncSync: "EIO" }).ops)).toThrow("EIO");
});

it("D17, D34: new folders are their owner's alone and flushed from above; an existing one keeps its mode", () => {
	const { ops, recordedCalls } = recorded();
	makeFolder(join(place, "x/y"), ops);
	expect(recordedCalls).toEqual(["mkdir /x", ...FLUSHED, "mkdir /x/y", "open /x", "fsync /x", "close /x"]);
	expect([mode(join(place, "x")), mode(join(place, "x/y"))]).toEqual([0o700, 0o700]);
	chmodSync(join(place, "x"), 0o755);
	makeFolder(join(place, "x"));
	expect(mode(join(place, "x"))).toBe(0o755);
});

it("D34: a folder that cannot be made is an error that says why, at once", () => {
	writeFileSync(join(place, "file"), "");
	symlinkSync("nowhere", join(place, "link"));
	const wrong = (path: string, kind: string): string =>
		`${path} is a ${kind}; a folder is needed there. Rename or remove it, or choose another path.`;
	for (const path of ["file", "file/below"])
		expect(() => makeFolder(join(place, path))).toThrow(wrong(join(place, "file"), "file"));
	expect(() => makeFolder(join(place, "link/x"))).toThrow(wrong(join(place, "link"), "symbolic link to nothing"));
	expect(() => makeFolder("/dev/null/x")).toThrow(wrong("/dev/null", "device"));
	// A parent exists, and yet the system answers ENOENT.
	if (existsSync("/proc/self")) expect(() => makeFolder("/proc/none/deep")).toThrow(/ENOENT.*mkdir '\/proc\/none'/);
});

it("D22: of processes that create a file at once one does, and all read its text", async () => {
	const script = `const { createFile } = await import(process.argv[1]); 
    const { readFileSync } = await import("node:fs"); const path = process.argv[2];
    process.stdout.write("r"); await new Promise((go) => process.stdin.once("data", go));
    const made = createFile(path, String(process.pid));
    console.log(JSON.stringify([made, readFileSync(path, "utf8")])); process.exit();`;
	const children = Array.from({ length: 3 }, () =>
		spawn(
			process.execPath,
			["--input-type=module", "-e", script, new URL("./durable-file.ts", import.meta.url).href, join(place, "a")],
			{ stdio: ["pipe", "pipe", "inherit"] },
		),
	);
	const said = children.map(() => "");
	await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
	children.forEach(({ stdout, stdin }, index) => {
		stdout.on("data", (piece: Buffer) => (said[index] += piece.toString()));
		stdin.write("go");
	});
	await Promise.all(children.map((child) => once(child, "close")));
	const answers = said.map((text) => JSON.parse(text) as [boolean, string]);
	expect(answers.filter(([made]) => made)).toHaveLength(1);
	expect(new Set(answers.map(([, text]) => text)).size).toBe(1);
});

const STRACE = (() => {
	try {
		execFileSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

it.skipIf(!STRACE)(`D17: the system calls come in that order${STRACE ? "" : " (no strace here)"}`, () => {
	const log = join(root, "calls");
	const script = `const { createFile } = await import(process.argv[1]); createFile(process.argv[2], "text");`;
	execFileSync("strace", [
		"-f",
		"-y",
		"-o",
		log,
		"-e",
		"trace=fsync,fdatasync,link,linkat,rename,renameat2",
		process.execPath,
		"--input-type=module",
		"-e",
		script,
		new URL("./durable-file.ts", import.meta.url).href,
		join(place, "a"),
	]);
	expect(existsSync(join(place, "a"))).toBe(true);
	const calls = readFileSync(log, "utf8")
		.split("\n")
		.filter((line) => line.includes(place))
		.map(
			(line) =>
				/(fsync|link|rename)\S*\(/.exec(line)?.[1] + (/\.tmp>?\)/.test(line) || /link/.test(line) ? "" : " folder"),
		);
	expect(calls).toEqual(["fsync", "link", "fsync folder"]);
});

it.each([
	[0o700, undefined],
	[0o755, "read"],
	[0o701, "read"],
	[0o770, "write"],
	[0o777, "write"],
	[0o1777, "read"],
] as const)("D34: what others may do in a folder of mode %o: %s", (mode, found) => {
	chmodSync(place, mode);
	expect(openToOthers(place)).toBe(found);
	expect(openToOthers(join(place, "none"))).toBeUndefined();
	chmodSync(place, 0o700);
});
