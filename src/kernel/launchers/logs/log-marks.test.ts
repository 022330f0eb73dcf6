/** When lines were written, and for which job, on real files. */
import {
	appendFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { until } from "../../../../test/support/until.ts";
import { boundLog, LOG_BYTES, logPath, marksPath } from "./log-files.ts";
import { pruneLogs } from "./old-logs.ts";
import { workerLogs } from "./worker-logs.ts";

let clock: ReturnType<typeof manualClock>;
let folder: string;
let path: string;
beforeEach(() => {
	clock = manualClock();
	folder = mkdtempSync(join(tmpdir(), "sluice-marks-"));
	path = logPath(folder, "w");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => workerLogs([join(folder, "absent"), folder], clock);

type Logs = ReturnType<typeof open>;

async function linesOf(logs: Logs): Promise<[string, number | undefined, string | undefined][]> {
	const part = await logs.read({ workerId: "w", from: 0, whole: true });
	return part!.lines.map(({ text, time, job }) => [text, time, job]);
}

it("D47: lines have the time at which they were seen, and the job that the worker held alone", async () => {
	const logs = open();
	logs.marks.watch("w");
	const began = clock.wall();
	writeFileSync(path, "starts\n");
	await clock.advance(200);
	await logs.marks.update("w");
	logs.marks.hold("w", ["a"]);
	appendFileSync(path, "of a\nalso of a\n");
	await clock.advance(1000);
	logs.marks.hold("w", ["b"]);
	appendFileSync(path, "of b\n");
	logs.marks.hold("w", ["b", "c"]);
	appendFileSync(path, "of b or c\n");
	logs.marks.hold("w", []);
	appendFileSync(path, "after all\n");
	await logs.marks.end("w");
	const late = began + 1200;
	const found = [
		["starts", began + 20, undefined],
		["of a", began + 400, "a"],
		["also of a", began + 400, "a"],
		["of b", late, "b"],
		["of b or c", late, undefined],
		["after all", late, undefined],
	];
	expect(await linesOf(logs)).toEqual(found);
	expect(await linesOf(open()), "by the next run of the service").toEqual(found);
	await logs.marks.close();
});

it("D47: a line is known as soon as it is read, and jobs that write nothing leave no trace", async () => {
	const logs = open();
	logs.marks.watch("w");
	writeFileSync(path, "one\n");
	expect(await linesOf(logs)).toEqual([["one", clock.wall(), undefined]]);
	const { size } = statSync(marksPath(path));
	for (let job = 0; job < 100; job += 1) logs.marks.hold("w", [`job-${job}`]);
	expect(statSync(marksPath(path)).size).toBe(size);
	await logs.marks.close();
});

it("D47: times of the last lines come from memory, so a follower does not read the file of times", async () => {
	const logs = open();
	logs.marks.watch("w");
	const began = clock.wall();
	for (let n = 1; n <= 65; n += 1) {
		appendFileSync(path, "one\n");
		await clock.advance(200);
		await logs.marks.update("w");
	}
	// The first is not among the last 64.
	expect((await linesOf(logs))[0]).toEqual(["one", began + 20, undefined]);
	writeFileSync(marksPath(path), "");
	const last = await logs.read({ workerId: "w", from: 64 * 4, whole: true });
	expect(last!.lines).toMatchObject([{ text: "one", time: clock.wall() }]);
	await logs.marks.close();
});

it("D47: what was written while no service ran has the time of the last of it", async () => {
	const first = open();
	first.marks.watch("w");
	writeFileSync(path, "one\n");
	await clock.advance(200);
	await first.marks.update("w");
	await first.marks.close();
	const seen = clock.wall() - 180;
	appendFileSync(path, "two\nthree\n");
	const at = seen + 5000;
	utimesSync(path, at / 1000, at / 1000);
	const second = open();
	second.marks.watch("w");
	expect(await linesOf(second)).toEqual([
		["one", seen, undefined],
		["two", at, undefined],
		["three", at, undefined],
	]);
	await second.marks.close();
});

it("D47: positions go on after a rotation; the file of times is bounded, and removed with the log", async () => {
	const logs = open();
	logs.marks.watch("w");
	writeFileSync(path, `${"x".repeat(50)}\n`);
	await clock.advance(200);
	await logs.marks.update("w");
	expect(await boundLog(path, 20)).toBe(true);
	logs.marks.hold("w", ["a"]);
	appendFileSync(path, "new\n");
	await clock.advance(200);
	expect((await linesOf(logs)).at(-1)).toEqual(["new", clock.wall(), "a"]);
	await logs.marks.end("w");
	const marks = Array.from({ length: 300_000 }, (_, n) => `${n} 1700000000000 \n`).join("");
	writeFileSync(marksPath(path), marks);
	logs.marks.watch("w");
	await logs.marks.update("w");
	expect(statSync(marksPath(path)).size).toBeLessThan(marks.length * 0.6);
	expect(await logs.list()).toEqual([{ workerId: "w", changed: expect.any(Number) as number }]);
	await pruneLogs(folder, { running: () => [], now: clock.wall() + 48 * 3_600_000, bytes: 0 });
	expect(statSync(marksPath(path), { throwIfNoEntry: false })).toBeUndefined();
	await logs.marks.close();
});

it("D25: the log of a worker keeps its last 16 MiB once it has more", async () => {
	const logs = open();
	logs.marks.watch("w");
	writeFileSync(path, "");
	truncateSync(path, LOG_BYTES);
	await clock.advance(200);
	await logs.marks.update("w");
	expect(statSync(path).size).toBe(LOG_BYTES);
	truncateSync(path, LOG_BYTES + 1);
	await clock.advance(200);
	await logs.marks.update("w");
	expect([statSync(path).size, statSync(`${path}.old`).size]).toEqual([0, LOG_BYTES]);
	await logs.marks.close();
});

it("D47: a log without times, of an earlier version, is read without them", async () => {
	writeFileSync(path, "old\n");
	expect(await linesOf(open())).toEqual([["old", undefined, undefined]]);
});

it("D47: a log whose folder fails, as a shared one may, disturbs neither jobs nor the service", async () => {
	const logs = open();
	logs.marks.watch("w");
	writeFileSync(path, "one\n");
	await clock.advance(200);
	await logs.marks.update("w");
	rmSync(path);
	// Fails as a stale mount does: not by ENOENT.
	symlinkSync(path, path);
	await clock.advance(200);
	logs.marks.hold("w", ["a"]);
	rmSync(path);
	writeFileSync(path, "one\ntwo\n");
	await clock.advance(200);
	expect((await linesOf(logs)).at(-1), "around a change").toEqual(["two", clock.wall(), undefined]);
	appendFileSync(path, "three\n");
	expect((await linesOf(logs)).at(-1)).toEqual(["three", clock.wall(), "a"]);
	await logs.marks.end("w");
	await logs.marks.close();
});

it("D47: of a log behind a link, lines around a change of jobs have none, and others the one", async () => {
	const shared = join(folder, "shared");
	mkdirSync(shared);
	writeFileSync(join(shared, "log"), "");
	symlinkSync(join(shared, "log"), path);
	const logs = open();
	logs.marks.watch("w");
	await clock.advance(200);
	const step = async (text: string, ms: number): Promise<void> => {
		appendFileSync(path, `${text}\n`);
		await clock.advance(ms);
	};
	logs.marks.hold("w", ["a"]);
	await step("soon after", 200);
	await step("of a", 200);
	await step("before the change", 0);
	logs.marks.hold("w", ["b"]);
	await step("after it", 200);
	await step("of b", 200);
	expect((await linesOf(logs)).map(([text, , job]) => [text, job])).toEqual([
		["soon after", undefined],
		["of a", "a"],
		["before the change", undefined],
		["after it", undefined],
		["of b", "b"],
	]);
	await logs.marks.close();
});

it("D47: of a worker that writes while its log is bounded no line has the job of another", async () => {
	const logs = open();
	logs.marks.watch("w");
	writeFileSync(path, "");
	await logs.marks.update("w");
	const piece = Buffer.alloc(1024 * 1024, `${"x".repeat(63)}\n`);
	logs.marks.hold("w", ["a"]);
	for (let mib = 0; mib < 17; mib += 1) appendFileSync(path, piece);
	const bounded = logs.marks.update("w");
	// The end is being copied: what comes now is lost, or is of the job that follows.
	await until("the copy", () => existsSync(`${path}.old`));
	appendFileSync(path, "still a\n");
	logs.marks.hold("w", ["b"]);
	await bounded;
	appendFileSync(path, "of b\n");
	await logs.marks.update("w");
	const { last } = (await logs.extent("w"))!;
	const part = await logs.read({ workerId: "w", from: last - 200, whole: true });
	const [first, ...lines] = part!.lines.map(({ text, job }) => [text, job]).filter(([text]) => text !== "");
	expect(lines.filter(([text]) => !text!.startsWith("x"))).toEqual([["of b", "b"]]);
	expect(first![1]).toBe("a");
	expect(statSync(path).size).toBe("of b\n".length);
	await logs.marks.close();
});
