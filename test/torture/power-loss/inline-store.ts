/** A SQLite store whose database thread is in this one: thousands are opened after each other. */
import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { openDatabase } from "../../../src/kernel/store/sqlite/file/database.ts";
import { openPayloadFiles, payloadFolder } from "../../../src/kernel/store/sqlite/payload-files/payload-files.ts";
import { withPayloadFiles } from "../../../src/kernel/store/sqlite/payload-files/store-with-files.ts";
import { UnitOfWork } from "../../../src/kernel/store/sqlite/rows/unit-of-work.ts";
import { prepareSchema } from "../../../src/kernel/store/sqlite/file/schema.ts";
import { openBatches } from "../../../src/kernel/store/sqlite/thread/batch.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { DatabaseClient } from "../../../src/kernel/store/sqlite/thread/client.ts";
import type { Batch } from "../../../src/kernel/store/sqlite/thread/messages.ts";

/** In the order of `openSqlite` and its thread, which do the same with messages between them. */
export async function openInline(
	path: string,
): Promise<Pick<Store, "jobs" | "chunks" | "files" | "objects" | "batches" | "close" | "ping">> {
	const db = openDatabase({ path });
	try {
		await prepareSchema(db);
		const parts = new UnitOfWork(db);
		const answer = openBatches(parts, systemClock);
		const thread = new EventEmitter();
		const postMessage = (batch: Batch): void =>
			void setImmediate(() => {
				if (batch !== "close")
					return void thread.emit(
						"message",
						answer(batch, () => undefined),
					);
				db.close();
				thread.emit("exit");
			});
		const files = await openPayloadFiles({
			folder: payloadFolder(path),
			referenced: parts.texts.all(),
		});
		const client = Object.assign(thread, { postMessage }) as unknown as Worker;
		return withPayloadFiles(new DatabaseClient(client, (changes) => files.referenced(changes)).store, files);
	} catch (error) {
		db.close();
		throw error;
	}
}
