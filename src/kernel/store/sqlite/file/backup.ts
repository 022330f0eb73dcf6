/** Copies of the store (D46): made by the database thread, read by this one. */
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import type { MessagePort } from "node:worker_threads";
import { type BackupStore, type CopiedFile, DATABASE_NAME } from "../../contract/store.ts";
import { piecesOf } from "./file-pieces.ts";
import type { filesFolder } from "./files-folder.ts";
import { logOf } from "./file-header.ts";
import type { PayloadFiles } from "../payload-files/payload-files.ts";
import type { CopyReply, CopyRequest } from "../thread/copier.ts";

type Finished = Extract<CopyReply, { path: string }>;

/** What a copy has beside the database. */
interface Holders {
	payloads: Pick<PayloadFiles, "hold">;
	folder: Pick<ReturnType<typeof filesFolder>, "hold">;
}

export function sqliteBackup(path: string, port: MessagePort, { payloads, folder }: Holders): BackupStore {
	// The port must not keep the process alive, except while a copy is made.
	port.unref();
	const send = (request: CopyRequest): void => port.postMessage(request);

	function made(
		signal: AbortSignal,
		progress: (at: Extract<CopyReply, { totalBytes: number }>) => void,
	): Promise<Finished> {
		const { promise, resolve, reject } = Promise.withResolvers<Finished>();
		const receive = (reply: CopyReply): void => {
			if ("totalBytes" in reply) progress(reply);
			else if ("path" in reply) resolve(reply);
			else reject(signal.aborted ? signal.reason : new Error(reply.failed));
		};
		const ended = (): void => reject(new Error("The store was closed."));
		const stop = (): void => send("stop");
		port.on("message", receive);
		port.on("close", ended);
		signal.addEventListener("abort", stop, { once: true });
		send("copy");
		return promise.finally(() => {
			port.off("message", receive);
			port.off("close", ended);
			signal.removeEventListener("abort", stop);
			port.unref();
		});
	}

	return {
		async size() {
			const sizes = [path, logOf(path)].map((file) =>
				stat(file).then(
					({ size }) => size,
					() => 0,
				),
			);
			return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
		},

		async copy({ signal, progress }) {
			signal.throwIfAborted();
			// Held before the copy is made: files that its rows refer to stay until they were sent.
			const held = [payloads.hold(), folder.hold()] as const;
			const release = (): void => held.forEach((each) => each.release());
			try {
				const copy = await made(signal, progress);
				const file = await open(copy.path, "r");
				// From here on the copy exists only while this process has it open.
				await rm(copy.path);
				const uploaded = await held[1].files().catch(async (error: unknown) => {
					await file.close();
					throw error;
				});
				return {
					migration: copy.migration,
					files: [
						copiedFile(DATABASE_NAME, file, copy.bytes),
						...held[0].files().map((each) => ({ ...each, name: `payloads/${each.name}` })),
						...uploaded,
					],
					async close() {
						release();
						await file.close();
					},
				};
			} catch (error) {
				release();
				throw error;
			}
		},
	};
}

function copiedFile(name: string, file: FileHandle, bytes: number): CopiedFile {
	return { name, bytes, read: () => piecesOf(file, bytes) };
}
