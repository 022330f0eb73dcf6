/** Lines and positions of worker logs, across what was set aside. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { boundLog, logPath } from "./log-files.ts";
import { LINE_BYTES } from "../launcher.ts";
import { workerLogs } from "./worker-logs.ts";

const clock = manualClock();
let folder: string;
let path: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
	path = logPath(folder, "w");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (from = 0, whole = false) =>
	workerLogs([join(folder, "absent"), folder], clock).read({ workerId: "w", from, whole });

/** All text from a position on, and how many reads it took. */
async function readAll(from = 0): Promise<{ texts: string[]; reads: number }> {
	const texts: string[] = [];
	for (let [at, reads] = [from, 1]; ; reads += 1) {
		const part = (await read(at, true))!;
		texts.push(...part.lines.map(({ text }) => text));
		at = part.next;
		if (part.end) return { texts, reads };
	}
}

describe("worker logs", () => {
	it("knows nothing of a worker without a log", async () => {
		expect(await read()).toBeUndefined();
		expect(await workerLogs([folder], clock).extent("w")).toBeUndefined();
	});

	it("returns each line with the position after it, and continues there", async () => {
		writeFileSync(path, "one\r\n\nthree\nfo");
		expect(await read()).toEqual({
			lines: [
				{ text: "one", position: 5 },
				{ text: "", position: 6 },
				{ text: "three", position: 12 },
			],
			next: 12,
			end: true,
		});
		expect(await read(6)).toEqual({
			lines: [{ text: "three", position: 12 }],
			next: 12,
			end: true,
		});
		appendFileSync(path, "ur\n");
		expect(await read(12)).toEqual({
			lines: [{ text: "four", position: 17 }],
			next: 17,
			end: true,
		});
	});

	it("returns a last line without a newline with `whole`", async () => {
		writeFileSync(path, "one\ntwo");
		expect(await read(0, true)).toEqual({
			lines: [
				{ text: "one", position: 4 },
				{ text: "two", position: 7 },
			],
			next: 7,
			end: true,
		});
		expect(await read(7, true)).toEqual({ lines: [], next: 7, end: true });
	});

	it("counts on after a rotation, and reads the rotated file", async () => {
		writeFileSync(path, "one\ntwo\nthr");
		expect(await boundLog(path, 7)).toBe(true);
		appendFileSync(path, "ee\nfour\n");
		expect((await readAll()).texts).toEqual(["two", "three", "four"]);
		expect((await read(8))!.lines).toEqual([
			{ text: "three", position: 14 },
			{ text: "four", position: 19 },
		]);
		expect(await workerLogs([folder], clock).extent("w")).toEqual({ first: 4, last: 19 });
		expect(await boundLog(path, 7)).toBe(true);
		appendFileSync(path, "five\n");
		expect((await readAll()).texts, "of the rotated files only the last is kept").toEqual(["e", "four", "five"]);
		expect(await workerLogs([folder], clock).extent("w")).toEqual({ first: 12, last: 24 });
	});

	it("reads from the end when a position is beyond it", async () => {
		writeFileSync(path, "one\n");
		expect(await read(999)).toEqual({ lines: [], next: 4, end: true });
	});

	it("hands out a long line in bounded pieces, none in the middle of a character", async () => {
		const long = `x${"🦀".repeat(LINE_BYTES)}`;
		writeFileSync(path, `${long}\nend\n`);
		const { texts } = await readAll();
		expect(texts.join("")).toBe(`${long}end`);
		for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LINE_BYTES);
		expect(texts.at(-1)).toBe("end");
	});

	it("reads a long log in bounded parts", async () => {
		const lines = Array.from({ length: 30_000 }, (_, n) => `line ${n}`);
		writeFileSync(path, `${lines.join("\n")}\n`);
		const { texts, reads } = await readAll();
		expect(texts).toEqual(lines);
		expect(reads).toBeGreaterThan(4);
	});
});
