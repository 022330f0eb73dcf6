/** Tails, bounds and removal of worker logs. */
import {
	existsSync,
	mkdtempSync,
	readFileSync,
	readdirSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { boundLog, logPath, startOf, startPath, tail } from "./log-files.ts";
import { logsIn, pruneLogs } from "./old-logs.ts";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const KIB64 = 64 * 1024;

/** The tail of a log with this content. */
function tailOf(content: string | Buffer): Promise<string> {
	const path = join(folder, "log");
	writeFileSync(path, content);
	return tail(path);
}

describe("tail", () => {
	it("is the whole of a short log, and nothing without one", async () => {
		expect(await tailOf("one\ntwo\n")).toBe("one\ntwo");
		expect(await tailOf("x".repeat(KIB64))).toBe("x".repeat(KIB64));
		expect(await tail(join(folder, "absent"))).toBe("");
	});

	it("begins with a whole line where it can, and is the end of a longer one", async () => {
		expect(await tailOf(`${"a".repeat(40_000)}\n${"b".repeat(40_000)}\n`)).toBe("b".repeat(40_000));
		expect(await tailOf(`start ${"c".repeat(100_000)}`)).toBe("c".repeat(KIB64));
		expect(await tailOf(`${"x\n".repeat(90_000)}end`)).toMatch(/^x\nx[^]*x\nend$/);
	});

	it("holds no NUL and no half characters", async () => {
		expect(await tailOf("a\0b")).toBe("ab");
		expect(await tailOf(`${"🦀".repeat(20_000)}x`)).toMatch(/^(🦀)+x$/u);
		expect(await tailOf(Buffer.from([0xff, 0x61]))).toBe("\ufffda");
	});
});

describe("boundLog", () => {
	it("sets a log aside only beyond its bound, and of it the end", async () => {
		const path = join(folder, "log");
		writeFileSync(path, "12345");
		expect(await boundLog(path, 5)).toBe(false);
		expect(await boundLog(path, 4)).toBe(true);
		expect(readFileSync(path, "utf8")).toBe("");
		expect(readFileSync(`${path}.old`, "utf8")).toBe("2345");
		expect(await startOf(path)).toBe(5);
		writeFileSync(path, "123456");
		expect(await boundLog(path, 4)).toBe(true);
		expect(await startOf(path)).toBe(11);
		for (const torn of ["", "\0\0"]) {
			writeFileSync(startPath(path), torn);
			expect(await startOf(path)).toBe(0);
		}
		expect(await boundLog(join(folder, "absent"), 4)).toBe(false);
	});

	it("keeps neither a part of what was to be set aside nor the log, where the copy fails", async () => {
		const path = join(folder, "log");
		writeFileSync(path, "12345");
		symlinkSync("/dev/full", `${path}.old`);
		expect(await boundLog(path, 4)).toBe(true);
		expect(readFileSync(path, "utf8")).toBe("");
		expect(existsSync(`${path}.old`)).toBe(false);
		expect(await startOf(path)).toBe(5);
	});
});

describe("pruneLogs", () => {
	it("D47: passes over files whose names no worker has", async () => {
		for (const name of ["worker-%.log", "worker-.log", "worker-%ff.log", "worker-a%2Fb.log"])
			writeFileSync(join(folder, name), "x");
		expect((await logsIn(folder)).map(({ workerId }) => workerId)).toEqual(["a/b"]);
		await pruneLogs(folder, { running: () => [], now: Date.now() + 2 * 24 * 3_600_000 });
		expect(readdirSync(folder).sort()).toEqual(["worker-%.log", "worker-%ff.log", "worker-.log"]);
	});

	const DAY_MS = 86_400_000;

	/**
	 * A log of 10 bytes with 10 more set aside, last written `ageMs` before the end of the first day.
	 */
	function log(id: string, ageMs: number): void {
		const path = logPath(folder, id);
		for (const each of [path, `${path}.old`, startPath(path)]) {
			writeFileSync(each, "0123456789");
			utimesSync(each, (DAY_MS - ageMs) / 1000, (DAY_MS - ageMs) / 1000);
		}
	}

	const left = (): string[] =>
		readdirSync(folder)
			.filter((name) => name.endsWith(".log"))
			.toSorted();

	it("removes logs of ended workers after 24 h, with what was set aside, and no other file", async () => {
		for (const [id, ageMs] of [
			["running", DAY_MS],
			["old", 1000],
			["young", 999],
		] as const)
			log(id, ageMs);
		writeFileSync(join(folder, "notes.log"), "");
		await pruneLogs(folder, { running: () => ["running"], now: 2 * DAY_MS - 999 });
		expect(left()).toEqual(["notes.log", "worker-running.log", "worker-young.log"]);
		expect(readdirSync(folder).filter((name) => name.includes("old"))).toEqual([
			"worker-running.log.old",
			"worker-young.log.old",
		]);
		expect(readdirSync(folder)).toHaveLength(7);
		await pruneLogs(join(folder, "absent"), { running: () => [], now: DAY_MS });
	});

	it("removes the oldest logs of ended workers beyond a number of bytes", async () => {
		for (const [id, ageMs] of [
			["oldest", 4],
			["running", 3],
			["older", 2],
			["newest", 1],
		] as const)
			log(id, ageMs);
		await pruneLogs(folder, { running: () => ["running"], now: DAY_MS, bytes: 40 });
		expect(left()).toEqual(["worker-newest.log", "worker-older.log", "worker-running.log"]);
		await pruneLogs(folder, { running: () => ["running"], now: DAY_MS, bytes: 39 });
		expect(left()).toEqual(["worker-newest.log", "worker-running.log"]);
	});

	it("keeps a worker's id inside the folder", () => {
		expect(logPath("/logs", "../../etc/x")).toBe("/logs/worker-..%2F..%2Fetc%2Fx.log");
	});
});
