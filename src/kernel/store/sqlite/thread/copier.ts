/**
 * Copies the database for a backup while batches run (T10). The copy lies next to the database: what a crash leaves of
 * it is removed at the next start.
 */
import { closeSync, fdatasync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { MessagePort } from "node:worker_threads";
import { OWNER_FILE } from "../../../system/durable-file.ts";
import { copyIsBusy } from "../file/disk-errors.ts";
import type { Database } from "../file/database.ts";
import { markComplete } from "../file/file-header.ts";

/** Operations wait for a step: less than a millisecond. */
const STEP_PAGES = 64;

const PAGE_BYTES = 4096;

/**
 * Bytes after which the copy is flushed. Large amounts of unwritten data delay the flushes of commits, and operations
 * wait for the last flush.
 */
const FLUSHED_BYTES = 8 * 2 ** 20;

export type CopyRequest = "copy" | "stop";

export type CopyReply =
	| { copiedBytes: number; totalBytes: number }
	| { path: string; bytes: number; migration: number }
	| { failed: string };

class Stopped extends Error {}

const copyOf = (path: string): string => join(dirname(path), `.${basename(path)}.backup.tmp`);

function removeCopy(path: string): void {
	for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

export function openCopier(db: Database, port: MessagePort): { stop(): Promise<void> } {
	const path = copyOf(db.path);
	let running: Promise<void> | undefined;
	let stopped = false;
	removeCopy(path);

	const send = (reply: CopyReply): void => port.postMessage(reply);

	async function copy(): Promise<void> {
		removeCopy(path);
		// SQLite would create it readable for others.
		const file = openSync(path, "wx", OWNER_FILE);
		let flushed = 0;
		let flush: Promise<void> | undefined;
		try {
			for (let done = false; !done; ) {
				if (stopped) throw new Stopped("The backup was stopped.");
				try {
					await db.copyTo(path, {
						pages: STEP_PAGES,
						step({ totalPages, remainingPages }) {
							if (stopped) throw new Stopped("The backup was stopped.");
							const copied = (totalPages - remainingPages) * PAGE_BYTES;
							if (flush || Math.abs(copied - flushed) < FLUSHED_BYTES) return;
							flushed = copied;
							flush = new Promise<void>((resolve) => fdatasync(file, () => resolve())).then(() => (flush = undefined));
							send({ copiedBytes: copied, totalBytes: totalPages * PAGE_BYTES });
						},
					});
					done = true;
				} catch (error) {
					// The first step met a transaction.
					if (!copyIsBusy(error)) throw error;
				}
			}
			markComplete((bytes, at) => writeSync(file, bytes, 0, bytes.length, at));
		} finally {
			await flush;
			closeSync(file);
		}
		const migration = Number(db.prepare("SELECT max(number) FROM migrations").get()?.[0]);
		send({ path, bytes: statSync(path).size, migration });
	}

	port.on("message", (request: CopyRequest) => {
		stopped = request === "stop";
		if (stopped || running) return;
		running = copy()
			.catch((error: unknown) => {
				removeCopy(path);
				send({ failed: (error as Error).message });
			})
			.finally(() => (running = undefined));
	});
	port.unref();
	return {
		async stop() {
			stopped = true;
			await running;
			port.close();
		},
	};
}
