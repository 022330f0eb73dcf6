/**
 * The memory by which the database thread waits for the end of a turn; here both sides are one
 * thread, but for the last.
 */
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSqlite } from "../open.ts";
import { turnListener, turnMemory, turnTeller } from "./commit-gate.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

it("there is no more where no turn goes on, and more at once where something was sent or the turn has ended since", () => {
	const memory = turnMemory();
	const [teller, listener] = [turnTeller(memory), turnListener(memory)];
	expect(listener.more(listener.news())).toBe(false);
	teller.begins();
	for (const step of [teller.sent, teller.ends]) {
		const seen = listener.news();
		step();
		expect(listener.more(seen)).toBe(true);
	}
	expect(listener.more(listener.news())).toBe(false);
});

it("a thread that waits goes on when something is sent, and when the turn is over", async ({
	onTestFinished,
}) => {
	const memory = turnMemory();
	const teller = turnTeller(memory);
	const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.file).then(({ turnListener }) => {
      const turn = turnListener(workerData.memory);
      for (let seen = turn.news(); ; seen = turn.news()) {
        parentPort.postMessage("waits");
        if (!turn.more(seen)) return parentPort.postMessage("over");
      }
    });`;
	teller.begins();
	const thread = new Worker(code, {
		eval: true,
		workerData: { memory, file: new URL("./commit-gate.ts", import.meta.url).href },
	});
	onTestFinished(() => void thread.terminate());
	const word = async (): Promise<unknown> => ((await once(thread, "message")) as unknown[])[0];
	expect(await word()).toBe("waits");
	teller.sent();
	expect(await word()).toBe("waits");
	teller.ends();
	expect(await word()).toBe("waits");
	expect(await word()).toBe("over");
});

it("D17: where workers keep up, a claim finds every job that is inserted in its turn, before it or after it", async ({
	onTestFinished,
}) => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-turn-"));
	const store = await openSqlite({ path: join(folder, "sluice.db") });
	onTestFinished(async () => {
		await store.close();
		rmSync(folder, { recursive: true, force: true });
	});
	const claim = () =>
		store.jobs.claim({ endpoint: "e", worker: "w", limit: 1000, maxBytes: 1e6, now: NOW });
	await claim();
	for (let round = 0; round < 20; round += 1) {
		const claimed = claim();
		for (let n = 0; n < 100; n += 1) {
			void store.jobs.insert({
				submission: {
					id: `job-${round}-${n}`,
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
		}
		expect((await claimed).jobs).toHaveLength(100);
	}
});
