/** Stores, lists and removes files (D56). The row decides which exist; their bytes are durable before it. */
import { ApiError } from "../../kernel/core/errors.ts";
import type { ByteRange } from "../../kernel/engine/stored-files.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { isForm } from "../../kernel/http/exchange/form.ts";
import { badForm } from "../../kernel/http/exchange/form-parser.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import type { ContentPieces, ContentWriter, FileContents } from "./contents/contents.ts";
import { FORM_BYTES, type Received, receiveForm } from "./receive.ts";
import { type Room, rooms, storeRow } from "./room.ts";
import { findRow, found, newId } from "./row.ts";
import type { FilesSettings } from "./settings.ts";

export type Files = ReturnType<typeof createFiles>;

export interface FilesContext {
	kernel: Pick<Kernel, "now" | "random" | "space" | "store">;
	contents: FileContents;
	settings: FilesSettings;
}

export function createFiles({ kernel, contents, settings }: FilesContext) {
	const { files } = kernel.store;
	const { now } = kernel;
	const room = rooms(files, settings);

	async function written(call: Call, q: { id: string; room: Room }): Promise<{ writer: ContentWriter } & Received> {
		const writer = await contents.create(q.id);
		try {
			const admit = (): void => kernel.space.admit();
			const received = await receiveForm(call, { room: q.room, writer, admit, maxBytes: settings.maxBytes });
			await writer.finish();
			return { writer, ...received };
		} catch (error) {
			await writer.drop();
			throw error;
		}
	}

	/** Its bytes are missing without a fault if its row was removed meanwhile. */
	async function unlessRemoved<T>(row: FileRow, read: Promise<T>): Promise<T> {
		try {
			return await read;
		} catch (error) {
			if (error instanceof ApiError) await findRow(kernel, row);
			throw error;
		}
	}

	async function stored(row: FileRow, { writer, own }: { writer: ContentWriter; own: Room }): Promise<void> {
		const { endpointBytes, totalBytes } = settings;
		const { endpoint } = row;
		await storeRow(own, writer, async () => {
			const outcome = await files.insert({ row, endpointBytes, totalBytes });
			if (outcome === "no endpoint") throw new ApiError("endpoint_not_found", { endpoint });
			if (outcome !== "inserted") throw room.full(outcome.over, { endpoint, stored: outcome.bytes });
		});
	}

	return {
		/** Throws `file_not_found`. */
		find: (endpoint: string, id: string): Promise<FileRow> => findRow(kernel, { endpoint, id }),

		/** Throws `file_not_found` if the file was deleted since its row was read, else as the contents do. */
		async open(row: FileRow, range: ByteRange): Promise<ContentPieces> {
			const pieces = await unlessRemoved(row, contents.open(row, range));
			const source = pieces[Symbol.asyncIterator]();
			const next = () => unlessRemoved(row, source.next());
			const end = () => source.return!();
			return { [Symbol.asyncIterator]: () => ({ next, return: end }), close: () => pieces.close() };
		},

		async receive(call: Call, endpoint: string): Promise<FileRow> {
			if (!isForm(call.req)) throw badForm("its Content-Type is not multipart/form-data.");
			kernel.space.admit();
			const declared = Number(call.req.headers["content-length"] ?? 0);
			const own = await room.open(endpoint, Math.max(0, declared - FORM_BYTES));
			try {
				await hold(call, contents.memory.upload);
				const createdAt = now();
				const id = newId(createdAt, kernel.random);
				const { writer, name, type, purpose, lifetime } = await written(call, { id, room: own });
				const expiresAt = lifetime === undefined ? undefined : createdAt + lifetime * 1000;
				const key = principalOf(call).keyId;
				const row = { id, endpoint, name, purpose, type, bytes: own.arrived, key, createdAt, expiresAt };
				await stored(row, { writer, own });
				return row;
			} finally {
				own.close();
			}
		},

		list: (q: Omit<Parameters<typeof files.list>[0], "now">) => files.list({ ...q, now: now() }),

		/** Throws `file_not_found`. */
		async remove(endpoint: string, id: string): Promise<FileRow> {
			const row = found(await files.remove({ endpoint, id, now: now() }), { endpoint, id });
			await contents.remove(id);
			return row;
		},
	};
}
