import { extname } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import type { CheckKey } from "../../secrets/key-check.ts";
import type { Store, StoreUnavailable } from "../contract/store.ts";
import { sqliteBackup } from "./file/backup.ts";
import { filesFolder } from "./file/files-folder.ts";
import { openPayloadFiles, type PayloadFiles, payloadFolder } from "./payload-files/payload-files.ts";
import { withPayloadFiles } from "./payload-files/store-with-files.ts";
import { withSentCallback } from "../operations/table.ts";
import { DatabaseClient, errorFrom } from "./thread/client.ts";
import type { DatabaseOptions } from "./file/database.ts";
import type { KeyCheck, Startup, ThreadData } from "./thread/messages.ts";
import { turnMemory, turnWriter } from "./thread/turn.ts";

const THREAD = new URL(`./thread/database-thread${extname(import.meta.url)}`, import.meta.url);

/** Young generation of the thread, MB: a small one fits the CPU cache. */
const YOUNG_MB = 12;

/**
 * Creates the store and folders if missing, and migrates. Throws `StoreUnavailable` `unreachable` when another process
 * has it open, `full` when the disk is full, and an Error for the operator when the file is not a store or is newer.
 * `checkKey` throws if the key does not match; its check value is durable before this resolves. The store keeps the
 * process alive until `close`.
 */
export async function openSqlite({
	path,
	maxPages,
	checkKey,
}: DatabaseOptions & { checkKey?: CheckKey | undefined }): Promise<Store> {
	const { port1: requests, port2: backups } = new MessageChannel();
	const turn = turnMemory();
	const thread = new Worker(THREAD, {
		workerData: { path, maxPages, backups, turn } satisfies ThreadData,
		transferList: [backups],
		name: "sqlite",
		resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
	});
	const failure = Promise.withResolvers<Error>();
	thread.on("error", failure.resolve);
	const nextStep = (): Promise<Extract<Startup, { ok: true }>> =>
		new Promise((resolve, reject) => {
			thread.once("message", (step: Startup) => (step.ok ? resolve(step) : reject(errorFrom(step))));
			void failure.promise.then(reject);
		});
	const fileFaults: ((error: StoreUnavailable) => void)[] = [];
	let files: PayloadFiles;
	try {
		const { stored } = await nextStep();
		const ready = nextStep();
		thread.postMessage({ check: checkKey?.(stored) } satisfies KeyCheck);
		const { segments } = await ready;
		files = await openPayloadFiles({
			folder: payloadFolder(path),
			referenced: segments,
			flushFailed: failure.resolve,
			fault: (error) => fileFaults.forEach((listener) => listener(error)),
		});
	} catch (error) {
		await thread.terminate();
		throw error;
	}
	const folder = filesFolder(path);
	const { store } = new DatabaseClient(thread, (changes) => files.referenced(changes), setImmediate, turnWriter(turn));
	// An operation passes, from the inside out: `DatabaseClient`, `sent` of an insert, large texts to files. Around that
	// is the gate of the store's health (`engine/availability/store-health.ts`).
	return {
		...withPayloadFiles(withSentCallback(store), files),
		unusedBytes: () => files.unusedBytes,
		filesFolder: folder,
		backup: sqliteBackup(path, requests, { payloads: files, folder }),
		onFileFault: (listener) => void fileFaults.push(listener),
		onFailure: (listener) => void failure.promise.then(listener),
	};
}
