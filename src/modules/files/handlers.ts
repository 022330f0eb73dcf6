/** OpenAI's `/files` (D56). */
import type { Sendable } from "../../kernel/api/definition/schema.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { answer } from "../../kernel/http/exchange/answer.ts";
import { type Call, outside, valueOf } from "../../kernel/http/exchange/call.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import type { FileContents } from "./contents/contents.ts";
import { ERRORS } from "./errors.ts";
import type { Files } from "./files.ts";
import { AFTER, type FILE_ROUTES, type FileObject, LIMIT, ORDER, PURPOSE, type Purpose } from "./routes.ts";
import { sendContent } from "./send.ts";

export type FileHandlers = HandlersOf<typeof FILE_ROUTES>;

export function fileHandlers({
	files,
	contents,
	calendar,
}: {
	files: Files;
	contents: FileContents;
	calendar: Kernel["calendar"];
}): FileHandlers {
	const objectOf = objects(calendar);
	const noUploads = ({ params: { endpoint } }: Call<"endpoint">): never => {
		throw new ApiError(ERRORS.uploads_not_supported, { endpoint });
	};
	return {
		createFile: async (call) => objectOf(await outside(call, files.receive(call, call.params.endpoint))),

		async listFiles(call) {
			const { endpoint } = call.params;
			const [after, purpose] = [valueOf(call, AFTER), valueOf(call, PURPOSE)];
			const order = valueOf(call, ORDER) ?? "desc";
			const page = await files.list({ endpoint, after, purpose, order, limit: valueOf(call, LIMIT) });
			const data = page.files.map(objectOf);
			const ids = { first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
			await answer(call, JSON.stringify({ object: "list", data, ...ids, has_more: page.more }));
		},

		getFile: async ({ params: { endpoint, file } }) => objectOf(await files.find(endpoint, file)),

		async getFileContent(call) {
			const { endpoint, file } = call.params;
			await sendContent(call, await files.find(endpoint, file), { open: files.open, memory: contents.memory.download });
		},

		async removeFile({ params: { endpoint, file } }) {
			const { id } = await files.remove(endpoint, file);
			return { id, object: "file", deleted: true };
		},

		createUpload: noUploads,
		useUpload: noUploads,
	};
}

/** Rows have times of the job clock, clients see those of the calendar. */
function objects(calendar: Kernel["calendar"]) {
	const seconds = (at: number): number => Math.floor(calendar.of(at) / 1000);
	return ({ id, bytes, createdAt, expiresAt, name, purpose }: FileRow): Sendable<FileObject> => ({
		id,
		object: "file",
		bytes,
		created_at: seconds(createdAt),
		...(expiresAt !== undefined && { expires_at: seconds(expiresAt) }),
		filename: name,
		purpose: purpose as Purpose,
		status: "processed",
		status_details: null,
	});
}
