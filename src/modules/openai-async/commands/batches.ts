/** `sluice batches` (D57): OpenAI's `/batches` of an endpoint. */
import type { BatchObject } from "../routes.ts";
import type { CommandGroup } from "../../../cli/framework/command.ts";
import { listAction, serviceAction } from "../../../cli/framework/service-action.ts";
import { stateStyled } from "../../../cli/framework/style.ts";
import { shortUnixTime } from "../../../cli/framework/table.ts";
import { queryOf } from "../../../cli/client/service-client.ts";
import { create } from "./create.ts";
import { get } from "./get.ts";
import { doneText, isEnded, shortCount } from "./progress.ts";
import { results } from "./results.ts";
import { followHint } from "./wait.ts";

const list = listAction<BatchObject>({
	name: "list",
	args: ["ENDPOINT"],
	summary: "list the batches of an endpoint, newest first",
	flags: {
		limit: { value: "N", summary: "page size, 1 to 100 (default 20)" },
		after: { value: "ID", summary: "continue after this batch" },
	},
	examples: ["sluice batches list hello"],
	request: "GET /v2/{ENDPOINT}/openai/v1/batches",
	query: (flags) => queryOf(flags, ["limit", "after"]),
	member: "data",
	empty: ({ args: [endpoint] }, { query }) =>
		query.has("after")
			? "No more batches.\n"
			: `No batches. Create one: sluice batches create ${endpoint} FILE.jsonl\n`,
	columns: {
		ID: "id",
		STATUS: "status",
		DONE: (batch) => doneText(batch) ?? "-",
		FAILED: ({ request_counts: counts }) => counts.failed,
		TOKENS: ({ usage }) => shortCount(usage.total_tokens),
		CREATED: ({ created_at: at }) => shortUnixTime(at),
		EXPIRES: (batch) => (isEnded(batch) ? undefined : shortUnixTime(batch.expires_at)),
	},
	below: ({ has_more: more, last_id: id }) => (more ? `There are more: --after ${String(id)}\n` : undefined),
});

const cancel = serviceAction<BatchObject>({
	name: "cancel",
	args: ["ENDPOINT", "ID"],
	summary: "cancel a batch; what has an answer keeps it",
	examples: ["sluice batches cancel hello batch_019b2f6e7c1a7d259a415f0f6a1c2e77"],
	request: "POST /v2/{ENDPOINT}/openai/v1/batches/{ID}/cancel",
	text: (batch, { args: [endpoint = ""] }) => {
		const next = isEnded(batch) ? "" : ` ${followHint(endpoint, batch.id)}`;
		return `Batch ${batch.id} is ${stateStyled(batch.status)}.${next}\n`;
	},
});

export const batches: CommandGroup = {
	name: "batches",
	summary: "run files of thousands of requests, follow them and get their results",
	actions: [list, create, get, results, cancel],
};
