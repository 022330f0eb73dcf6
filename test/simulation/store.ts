/**
 * The store of a simulated server: the service's own client, batches and operations over SQLite.
 * Messages between client and database thread take time; a crash loses those that have not arrived,
 * and the answers to those that have. What was committed stays.
 */
import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { withSentCallback } from "../../src/kernel/store/operations/table.ts";
import { UnitOfWork } from "../../src/kernel/store/sqlite/rows/unit-of-work.ts";
import { openBatches } from "../../src/kernel/store/sqlite/thread/batch.ts";
import { DatabaseClient } from "../../src/kernel/store/sqlite/thread/client.ts";
import type { Batch } from "../../src/kernel/store/sqlite/thread/messages.ts";
import type { SimulatedDatabase } from "./database.ts";
import type { Process } from "./process.ts";
import type { Plant } from "./server.ts";

export interface StoreTimes {
	/** Of a transaction with its flush, ms. */
	commitMs(): number;
	/** Of a message between the threads, ms. */
	messageMs(): number;
}

export function simulatedStore(q: {
	process: Process;
	database: SimulatedDatabase;
	times: StoreTimes;
	plant?: Plant["unit"];
}): Store {
	const { process, times, plant = (unit) => unit } = q;
	const unit = plant(new UnitOfWork(q.database));
	const answer = openBatches(unit, process.clock);
	const thread = new EventEmitter();
	const arrived: Batch[] = [];
	let busy = false;

	const toThread = channel(process, times);
	const toClient = channel(process, times);

	function work(): void {
		const batch = arrived.shift();
		if (batch === undefined || busy) return;
		if (batch === "close") return void process.after(0, () => thread.emit("exit"));
		busy = true;
		process.after(times.commitMs(), () => {
			const reply = answer(batch, () => {
				const next = arrived[0];
				return next === "close" ? undefined : (arrived.shift() as unknown[] | undefined);
			});
			unit.payloads.forgetFresh();
			busy = false;
			// After the commit: the process may die before the answer leaves.
			if (process.act()) toClient(() => thread.emit("message", reply));
			work();
		});
	}

	const client = Object.assign(thread, {
		postMessage(batch: Batch): void {
			if (!process.act()) return;
			toThread(() => {
				arrived.push(batch);
				if (!busy) work();
			});
		},
	});
	const { store } = new DatabaseClient(
		client as unknown as Worker,
		() => {},
		(run) => void process.after(0, run),
	);
	return withSentCallback(store);
}

/** Messages arrive in their order. */
function channel(process: Process, { messageMs }: StoreTimes): (arrive: () => void) => void {
	const { world } = process;
	let last = 0;
	return (arrive) => {
		last = Math.max(last, world.now + messageMs());
		process.after(last - world.now, arrive);
	};
}
