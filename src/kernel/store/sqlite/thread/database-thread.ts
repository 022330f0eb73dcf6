import { once } from "node:events";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { openBatches } from "./batch.ts";
import { openCopier } from "./copier.ts";
import { openDatabase } from "../file/database.ts";
import { unavailable } from "../file/disk-errors.ts";
import type { Batch, KeyCheck, Startup, ThreadData } from "./messages.ts";
import { UnitOfWork } from "../rows/unit-of-work.ts";
import { prepareSchema } from "../file/schema.ts";
import { systemClock } from "../../../system/clock.ts";
import { keepCheck, readSecrets } from "../file/stored-secrets.ts";
import { turnReader } from "./turn.ts";
import { IDLE_MS, openVacuum } from "../file/vacuum.ts";

const { backups, turn: turnMemory, ...options } = workerData as ThreadData;
const turn = turnReader(turnMemory);

function reportStartup(step: Startup): void {
	parentPort?.postMessage(step);
}

try {
	const db = openDatabase(options);
	await prepareSchema(db);
	const stored = readSecrets(db);
	const keyChecked = once(parentPort!, "message") as Promise<[KeyCheck]>;
	reportStartup({ ok: true, stored, segments: [] });
	const [{ check }] = await keyChecked;
	if (check !== undefined && check !== stored.check) keepCheck(db, check);
	const parts = new UnitOfWork(db);
	const answer = openBatches(parts, systemClock);
	const vacuum = openVacuum(db, { clock: systemClock });
	const copier = openCopier(db, backups);
	let closing = false;
	let shrinking = false;
	let worked = false;

	/** Returns free pages until there are none or the store is closed. */
	async function shrink(): Promise<void> {
		worked = true;
		if (shrinking) return;
		shrinking = true;
		for (let pause: number | undefined = IDLE_MS; pause !== undefined; ) {
			worked = false;
			await systemClock.sleep(pause);
			if (closing) return;
			pause = vacuum.step(worked);
		}
		shrinking = false;
	}

	/** With `mayWait` the next batch of this turn (T11). */
	function next(mayWait: boolean): unknown[] | undefined {
		for (;;) {
			const events = turn.events();
			const batch = parentPort && (receiveMessageOnPort(parentPort)?.message as Batch | undefined);
			if (batch === "close") closing = true;
			else if (batch) return batch;
			if (closing || !mayWait || !turn.waitForEvent(events)) return undefined;
		}
	}

	parentPort?.on("message", (batch: Batch) => {
		if (batch === "close") closing = true;
		else {
			parentPort?.postMessage(answer(batch, next));
			parts.payloads.forgetFresh();
			void shrink();
		}
		if (closing) void close();
	});

	async function close(): Promise<void> {
		await copier.stop();
		db.close();
		parentPort?.close();
	}
	reportStartup({ ok: true, stored, segments: parts.texts.all() });
} catch (error) {
	const fault = unavailable(error, options.path);
	reportStartup({ ok: false, why: fault?.why, message: (fault ?? (error as Error)).message });
}
