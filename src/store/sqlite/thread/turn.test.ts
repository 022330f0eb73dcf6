/** The memory by which the database thread learns of turns of the service. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../open.ts";
import { turnListener, turnMemory, turnSender } from "./turn.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

it("T11: without a turn there is nothing to wait for, and what came meanwhile is looked for at once", () => {
	const memory = turnMemory();
	const [sender, listener] = [turnSender(memory), turnListener(memory)];
	expect(listener.more(listener.news())).toBe(false);
	sender.begins();
	for (const step of [sender.sent, sender.ends]) {
		const seen = listener.news();
		step();
		expect(listener.more(seen)).toBe(true);
	}
	expect(listener.more(listener.news())).toBe(false);
});

it("T11: a turn that does not end is waited for, but not forever", () => {
	const memory = turnMemory();
	turnSender(memory).begins();
	const listener = turnListener(memory, 1);
	expect(listener.more(listener.news())).toBe(false);
});

it("T11: a message and the end of the turn wake a thread that waits", async () => {
	const memory = turnMemory();
	const sender = turnSender(memory);
	const code = `
		const { parentPort, workerData } = require("node:worker_threads");
		import(workerData.file).then(({ turnListener }) => {
			const turn = turnListener(workerData.memory, Infinity);
			for (;;) {
				const seen = turn.news();
				parentPort.postMessage("looks");
				if (!turn.more(seen)) return parentPort.postMessage("commits");
			}
		});`;
	sender.begins();
	const file = new URL("./turn.ts", import.meta.url).href;
	const thread = new Worker(code, { eval: true, workerData: { memory, file } });
	onTestFinished(async () => void (await thread.terminate()));
	const word = async (): Promise<unknown> => ((await once(thread, "message")) as unknown[])[0];
	expect(await word()).toBe("looks");
	sender.sent();
	expect(await word()).toBe("looks");
	sender.ends();
	expect(await word()).toBe("looks");
	expect(await word()).toBe("commits");
});

it("T11: a claim finds all jobs that are inserted in its turn, before it and after it", async () => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-turn-"));
	const store = await openSqlite({ path: join(folder, "sluice.db") });
	onTestFinished(async () => {
		await store.close();
		rmSync(folder, { recursive: true, force: true });
	});
	const insert = (id: string) =>
		store.jobs.insert({
			submission: {
				id,
				endpoint: "e",
				operation: "run",
				lowPriority: false,
				ttlMs: MINUTE,
				executionTimeoutMs: MINUTE,
				leaseMs: MINUTE,
				retainMs: MINUTE,
				recordMs: MINUTE,
			},
			input: "{}",
			now: NOW,
		});
	for (let round = 0; round < 20; round += 1) {
		const ids = Array.from({ length: 100 }, (_, n) => `${round}-${n}`);
		const before = ids.slice(0, 50).map(insert);
		const claimed = store.jobs.claim({
			endpoint: "e",
			worker: "w",
			limit: 1000,
			maxBytes: 1e6,
			now: NOW,
		});
		const after = ids.slice(50).map(insert);
		await Promise.all([...before, ...after]);
		expect((await claimed).jobs.map(({ job }) => job.id)).toEqual(ids);
	}
});
