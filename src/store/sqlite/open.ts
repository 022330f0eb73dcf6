/** Opens a store in a SQLite file: starts the database thread and connects to it. */
import { extname } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import type { CheckKey } from "../key-check.ts";
import type { Store } from "../contract/store.ts";
import { sqliteBackup } from "./backup.ts";
import { openPayloadFiles, type PayloadFiles, payloadFolder } from "./payload-files/payload-files.ts";
import { withPayloadFiles } from "./payload-files/store-with-files.ts";
import { withSentCallback } from "../operations/table.ts";
import { connect, errorFrom } from "./thread/client.ts";
import type { DatabaseOptions } from "./database.ts";
import type { KeyCheck, Startup, ThreadData } from "./thread/messages.ts";
import { turnMemory, turnWriter } from "./thread/turn.ts";

/** Same extension as this file: TypeScript in the source, JavaScript in the build. */
const THREAD = new URL(`./thread/database-thread${extname(import.meta.url)}`, import.meta.url);

/** Young generation of the thread, MB. Batches are short-lived; a small one fits the CPU cache. */
const YOUNG_MB = 12;

/**
 * Opens or creates the store at `path`, folders included, and migrates its schema. Throws
 * `StoreUnavailable` `unreachable` when another process has it open, `full` when the disk is full,
 * and an Error with a sentence for the operator when the file is not a store or was made by a newer
 * version. `checkKey` throws if the key does not match; its check value is durable before this
 * resolves. The store keeps the process alive until `close`.
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
		});
	} catch (error) {
		await thread.terminate();
		throw error;
	}
	const client = connect(thread, (changes) => files.referenced(changes), setImmediate, turnWriter(turn));
	return {
		...composed(client, files),
		unusedBytes: () => files.unusedBytes,
		backup: sqliteBackup({ path, port: requests, files }),
		onFailure: (listener) => void failure.promise.then(listener),
	};
}

/**
 * Composes what an operation passes before it is in the thread's batch, from the inside out: `connect`
 * packs it (`thread/codecs.ts`) and adds it to the batch; `sent` of an insert is called; large texts go
 * to files. Around that is the gate of the store's health (`engine/availability/store-health.ts`), and
 * for posts of workers `retry-while-unavailable.ts` beside it.
 */
function composed(client: Store, files: PayloadFiles): Store {
	return withPayloadFiles(withSentCallback(client), files);
}
