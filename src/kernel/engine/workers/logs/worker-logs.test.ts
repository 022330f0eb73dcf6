/** The last lines of long logs, and what comes, on real files. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { given } from "../../../../../test/support/given.ts";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../events.ts";
import { boundLog, logPath } from "../../../launchers/logs/log-files.ts";
import { workerLogs } from "../../../launchers/logs/worker-logs.ts";
import { type LogQuery, readLog } from "./worker-logs.ts";
import { workerRegistry } from "../worker-registry.ts";

const ID = "ours-0123456789ab";
const clock = manualClock();
let folder: string;
let path: string;
let present: ReturnType<typeof workerRegistry>;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
	path = logPath(folder, ID);
	present = workerRegistry(eventBus());
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (q: Partial<LogQuery> = {}) =>
	readLog(given({ clock, workerLogs: workerLogs([folder], clock), registry: present }), {
		endpoint: "ours",
		worker: ID,
		tail: 100,
		follow: false,
		left: new AbortController().signal,
		...q,
	});

async function texts(q: Partial<LogQuery> = {}): Promise<string[]> {
	const found: string[] = [];
	for await (const entries of await open(q)) found.push(...entries.map(({ text }) => text));
	return found;
}

/** Over 1 MB; each thousandth line is of job `rare`. */
const LINES = Array.from({ length: 20_000 }, (_, n) =>
	n % 1000 === 0
		? JSON.stringify({ requestId: "rare", message: `rare ${n}`, level: "INFO" })
		: `line ${n} ${"x".repeat(50)}`,
);

describe("logs", () => {
	it("the last lines of a long log, however far back they begin", async () => {
		writeFileSync(path, `${LINES.join("\n")}\n`);
		expect(await texts({ tail: 1 })).toEqual(LINES.slice(-1));
		expect(await texts({ tail: 5000 })).toHaveLength(5000);
		expect((await texts({ tail: 5000 }))[1]).toBe(LINES[15_001]);
		expect(await texts({ tail: 0 })).toEqual([]);
		expect(await texts({ tail: 3, job: "rare" })).toEqual(["rare 17000", "rare 18000", "rare 19000"]);
		expect(await texts({ tail: 100, job: "rare" })).toHaveLength(20);
		expect(await texts({ tail: 100, job: "none" })).toEqual([]);
	});

	it("across what was set aside, and from a position that is no more", async () => {
		writeFileSync(path, "one\ntwo\n");
		await boundLog(path, 7);
		appendFileSync(path, "three\n");
		expect(await texts({ tail: 2 })).toEqual(["two", "three"]);
		await boundLog(path, 5);
		expect(await texts({ from: 0 })).toEqual(["hree"]);
	});

	it("follows a worker from before its first line to its end, and keeps the connection meanwhile", async () => {
		const worker = present.meet({
			id: ID,
			endpoint: "ours",
			launcher: "process",
			ready: false,
			now: 0,
		});
		const lines = (await open({ follow: true }))[Symbol.asyncIterator]();
		const next = async (ms: number): Promise<unknown> => {
			const coming = lines.next();
			await clock.advance(ms);
			return await coming;
		};
		expect(await next(15_000), "nothing new in 15 s").toEqual({ done: false, value: [] });
		writeFileSync(path, "one\ntw");
		expect(await next(250)).toEqual({ done: false, value: [{ text: "one", position: 4 }] });
		appendFileSync(path, "o\nend");
		present.forget(worker);
		expect(await next(250)).toEqual({
			done: false,
			value: [
				{ text: "two", position: 8 },
				{ text: "end", position: 11 },
			],
		});
		expect(await next(0)).toEqual({ done: true, value: undefined });
	});

	it("stays with a reader after the worker's end, and keeps its connection", async () => {
		const worker = present.meet({ id: ID, endpoint: "ours", launcher: "process", ready: false, now: 0 });
		writeFileSync(path, "one\nlast");
		const left = new AbortController();
		const lines = (await open({ follow: true, stays: true, left: left.signal }))[Symbol.asyncIterator]();
		expect(await lines.next()).toEqual({ done: false, value: [{ text: "one", position: 4 }] });
		present.forget(worker);
		const next = async (ms: number): Promise<unknown> => {
			const coming = lines.next();
			await clock.advance(ms);
			return await coming;
		};
		expect(await next(250)).toEqual({ done: false, value: [{ text: "last", position: 8 }] });
		for (let round = 0; round < 3; round++) expect(await next(15_000)).toEqual({ done: false, value: [] });
		const end = lines.next();
		left.abort();
		expect((await end).done).toBe(true);
	});

	it("ends when its reader has left", async () => {
		present.meet({ id: ID, endpoint: "ours", launcher: "process", ready: false, now: 0 });
		const left = new AbortController();
		const next = (await open({ follow: true, left: left.signal }))[Symbol.asyncIterator]().next();
		left.abort();
		expect((await next).done).toBe(true);
	});

	it("D39: refuses what is kept of no worker of the endpoint", async () => {
		writeFileSync(path, "one\n");
		await expect(open({ endpoint: "our" })).rejects.toMatchObject({ code: "worker_not_found" });
		await expect(open({ worker: "ours-ffffffffffff" })).rejects.toMatchObject({
			code: "worker_not_found",
		});
		present.meet({ id: "ours-ffffffffffff", endpoint: "ours", ready: true, now: 0 });
		await expect(open({ worker: "ours-ffffffffffff" }), "external").rejects.toMatchObject({
			code: "worker_not_found",
		});
	});
});
