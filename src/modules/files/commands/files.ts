/** `sluice files` (D56): OpenAI's `/files` of an endpoint. */
import type { FileObject } from "../routes.ts";
import type { CommandGroup } from "../../../cli/framework/command.ts";
import { bytesText } from "../../../cli/framework/progress-bar.ts";
import { listAction, serviceAction } from "../../../cli/framework/service-action.ts";
import { shortUnixTime } from "../../../cli/framework/table.ts";
import { queryOf } from "../../../cli/client/service-client.ts";
import { get } from "./get.ts";
import { put } from "./put.ts";

const list = listAction<FileObject>({
	name: "list",
	args: ["ENDPOINT"],
	summary: "list the files of an endpoint, newest first",
	flags: {
		purpose: { value: "PURPOSE", summary: "only files with this purpose" },
		limit: { value: "N", summary: "page size, 1 to 10000 (default 10000)" },
		after: { value: "ID", summary: "continue after this file" },
	},
	examples: ["sluice files list hello --purpose batch"],
	request: "GET /v2/{ENDPOINT}/openai/v1/files",
	query: (flags) => queryOf(flags, ["purpose", "limit", "after"]),
	member: "data",
	empty: ({ args: [endpoint] }) => `No files. Upload one: sluice files put ${endpoint} FILE\n`,
	columns: {
		ID: "id",
		NAME: "filename",
		SIZE: ({ bytes }) => bytesText(bytes),
		PURPOSE: "purpose",
		CREATED: ({ created_at: at }) => shortUnixTime(at),
		EXPIRES: ({ expires_at: at }) => shortUnixTime(at) ?? "never",
	},
	below: ({ has_more: more, last_id: id }) => (more ? `There are more: --after ${String(id)}\n` : undefined),
});

const rm = serviceAction<{ id: string }>({
	name: "rm",
	args: ["ENDPOINT", "ID"],
	summary: "delete a file",
	examples: ["sluice files rm hello file-019b2f6e7c1a7d259a415f0f6a1c2e77 --yes"],
	request: "DELETE /v2/{ENDPOINT}/openai/v1/files/{ID}",
	question: ({ args: [endpoint, id] }) => `Delete file ${id} of endpoint '${endpoint}'?`,
	text: ({ id }) => `Deleted ${id}.\n`,
});

export const files: CommandGroup = {
	name: "files",
	summary: "list, download, upload and delete files of an endpoint",
	actions: [list, get, put, rm],
};
