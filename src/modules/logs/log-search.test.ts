/** Searches in logs of workers, on real files: order, pages, times, what one page reads. */
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { boundLog, logPath, marksPath } from "../../kernel/launchers/logs/log-files.ts";
import { workerLogs } from "../../kernel/launchers/logs/worker-logs.ts";
import { type FoundLine, type LogSearch, pageOf, searchLogs } from "./log-search.ts";

const [ONE, TWO] = ["ours-000000000001", "ours-000000000002"] as const;
const START = Date.parse("2026-01-31T12:00:00Z");
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "sluice-search-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Lines with their times, s after the start; each time is noted at the last of its lines. */
function write(worker: string, lines: readonly (readonly [at: number, text: string])[], change = 0): void {
	const path = logPath(folder, worker);
	let position = 0;
	const marks = lines.map(([at, text]) => {
		position += Buffer.byteLength(text) + 1;
		return `${position} ${START + at * 1000} \n`;
	});
	writeFileSync(path, lines.map(([, text]) => `${text}\n`).join(""));
	writeFileSync(marksPath(path), marks.join(""));
	const last = (START + 1000 * (lines.at(-1)?.[0] ?? 0)) / 1000 + change;
	for (const each of [path, marksPath(path)]) utimesSync(each, last, last);
}

function find(q: Partial<LogSearch> = {}, onRead = async (): Promise<void> => {}) {
	const logs = workerLogs([folder], manualClock());
	const left = new AbortController().signal;
	let bytes = 0;
	const counted: typeof logs = {
		...logs,
		async read(part) {
			const found = await logs.read(part);
			await onRead();
			bytes += (found?.next ?? part.from) - part.from;
			return found;
		},
	};
	return {
		page: (more: Partial<LogSearch> = {}) =>
			searchLogs(counted, { endpoint: "ours", search: "", limit: 10, left, ...q, ...more }),
		get bytes() {
			return bytes;
		},
	};
}

/** All pages, one after the other. */
async function all(q: Partial<LogSearch> = {}): Promise<FoundLine[][]> {
	const { page } = find(q);
	const pages: FoundLine[][] = [];
	for (let cursor: string | undefined; ; ) {
		const { lines, next } = await page({ cursor });
		pages.push([...lines]);
		if (next === undefined) return pages;
		cursor = next;
	}
}

const texts = (lines: readonly FoundLine[]): string[] => lines.map(({ text }) => text);

it("D47: pages of the lines of two workers in the order of their times, none twice and none missing", async () => {
	// Logs of many steps.
	const text = (n: number): string => `line ${n} ${"x".repeat(1000)}`;
	for (const [first, worker] of [ONE, TWO].entries())
		write(
			worker,
			Array.from({ length: 300 }, (_, n) => [2 * n + first, text(2 * n + first)] as const),
		);
	const pages = await all({ limit: 7 });
	expect(pages[0]).toHaveLength(7);
	expect(pages.flatMap(texts)).toEqual(Array.from({ length: 600 }, (_, n) => text(599 - n)));
});

it("D47: lines of the same time are in pages too", async () => {
	for (const worker of [ONE, TWO])
		write(
			worker,
			Array.from({ length: 40 }, (_, n) => [0, `${worker} ${n}`] as const),
		);
	const found = (await all({ limit: 7 })).flatMap(texts);
	expect(found).toHaveLength(80);
	expect(new Set(found).size).toBe(80);
});

it("D47: a page reads 32 MiB and says where the next one begins; a time range reads only its part", async () => {
	// Lines of 15 KiB, longer than the steps in which logs are read are parts of.
	const text = "x".repeat(15_000);
	const lines = Array.from(
		{ length: 2500 },
		(_, n) => [n, n === 3 || n === 1200 ? `${n} rare ${text}` : text] as const,
	);
	write(ONE, lines);
	const whole = find({ search: "3 RARE" });
	const first = await whole.page();
	expect([first.lines, typeof first.next]).toEqual([[], "string"]);
	expect(whole.bytes).toBeGreaterThan(32 * 2 ** 20);
	expect(whole.bytes).toBeLessThan(50 * 2 ** 20);
	const second = await whole.page({ cursor: first.next });
	expect(second).toMatchObject({ lines: [{ worker: ONE, time: "2026-01-31T12:00:03.000Z" }] });
	expect(second).not.toHaveProperty("next");
	const part = find({ search: "rare", since: START + 1_199_000, until: START + 1_201_000 });
	expect((await part.page()).lines).toHaveLength(1);
	expect(part.bytes).toBeLessThan(200_000);
	// All of one time: where a page ends is a matter of positions.
	for (const worker of [ONE, TWO])
		write(
			worker,
			lines.map(([, each]) => [0, each]),
		);
	const every = (await all({ search: "x", limit: 10_000 })).flat();
	expect(every).toHaveLength(2 * lines.length);
	expect(new Set(every.map(({ worker, position }) => `${worker} ${position}`)).size).toBe(2 * lines.length);
});

it("D47: a line whose end was noted later is whole", async () => {
	write(ONE, [[0, "first"]]);
	writeFileSync(logPath(folder, ONE), "first\nsecond line\n");
	writeFileSync(marksPath(logPath(folder, ONE)), `12 ${START} \n18 ${START + 1000} \n`);
	expect((await all({ since: START + 1000 })).flatMap(texts)).toEqual(["second line"]);
	expect((await all({ until: START })).flatMap(texts)).toEqual(["first"]);
});

it("D47: lines before a clock was set back are found by time too", async () => {
	write(ONE, [
		[0, "first"],
		[900, "ahead"],
		[2, "set back"],
	]);
	expect((await all({ until: START + 2000 })).flatMap(texts)).toEqual(["set back", "ahead", "first"]);
	expect((await all({ since: START + 1000 })).flatMap(texts)).toEqual(["set back", "ahead"]);
});

it("D47: by time, level and job; a log without times has that of its last change", async () => {
	const sdk = (level: string): string => JSON.stringify({ requestId: "job", message: level, level });
	write(ONE, [
		[1, "print"],
		[2, sdk("DEBUG")],
		[3, sdk("WARNING")],
		[4, sdk("CRITICAL")],
	]);
	const of = async (q: Partial<LogSearch>): Promise<string[]> => (await all(q)).flatMap(texts);
	expect(await of({ level: "warn" })).toEqual(["CRITICAL", "WARNING"]);
	expect(await of({ level: "info" })).toEqual(["CRITICAL", "WARNING", "print"]);
	expect(await of({ job: "job", until: START + 3000 })).toEqual(["WARNING", "DEBUG"]);
	expect(await of({ since: START + 2000, until: START + 3000 })).toEqual(["WARNING", "DEBUG"]);
	writeFileSync(logPath(folder, TWO), "old\n");
	utimesSync(logPath(folder, TWO), START / 1000 + 3.5, START / 1000 + 3.5);
	expect(await of({})).toEqual(["CRITICAL", "old", "WARNING", "DEBUG", "print"]);
});

it("D47: of several servers only what is newer than all that one of them has not read", () => {
	const line = (at: number, worker: string): FoundLine => ({
		text: `${at}`,
		worker,
		position: 1,
		time: new Date(START + at).toISOString(),
	});
	const next = `${line(4, TWO).time}_2_${TWO}`;
	expect(pageOf([{ lines: [line(9, ONE), line(3, ONE)] }, { lines: [line(5, TWO)], next }], 10)).toEqual({
		lines: [line(9, ONE), line(5, TWO)],
		next,
	});
});

it("D47: a search ends when a rotation removes what it was to read", async () => {
	const lines = Array.from({ length: 200 }, (_, n) => [n, `${n} ${"x".repeat(1000)}`] as const);
	write(ONE, lines);
	const path = logPath(folder, ONE);
	let reads = 0;
	const rotated = find({ limit: 1000 }, async () => {
		if ((reads += 1) !== 1) return;
		await boundLog(path, 0);
		appendFileSync(path, `${"new\n".repeat(100)}`);
		await boundLog(path, 0);
	});
	const { lines: found, next } = await rotated.page();
	expect([found[0]?.text, next]).toEqual([lines.at(-1)![1], undefined]);
	expect(found.length).toBeLessThan(60);
});

it("D12: a cursor that no page had is refused", async () => {
	write(ONE, [[0, "line"]]);
	for (const cursor of ["x", "2026-13-31T12:00:00.000Z_1_w", `${"9".repeat(24)}_1_w`])
		await expect(find({ cursor }).page()).rejects.toMatchObject({ code: "bad_query" });
});
