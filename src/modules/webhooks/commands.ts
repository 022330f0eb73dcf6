/** `sluice webhooks`: deliveries (D21, D36). */
import type { Delivery } from "./routes.ts";
import type { CommandGroup } from "../../cli/framework/command.ts";
import { PAGE_FLAGS } from "../../cli/framework/common-flags.ts";
import { listAction, serviceAction } from "../../cli/framework/service-action.ts";
import { queryOf } from "../../cli/client/service-client.ts";
import { shortTime } from "../../cli/framework/table.ts";

const FILTERS = {
	endpoint: { value: "ID", summary: "only deliveries of this endpoint" },
	job: { value: "JOB", summary: "only deliveries of this job" },
	state: { value: "STATE", summary: "pending, delivered or failed" },
	...PAGE_FLAGS,
} as const;

const list = listAction<Delivery>({
	name: "list",
	args: [],
	summary: "list deliveries, newest first",
	flags: FILTERS,
	examples: ["sluice webhooks list --state failed"],
	request: "GET /v1/webhooks",
	query: (flags) => queryOf(flags, Object.keys(FILTERS)),
	member: "deliveries",
	empty: (_, { query }) =>
		query.size > 0
			? "No matching deliveries.\n"
			: 'No deliveries. Submit a job with "webhook": "https://..." to be notified when it ends.\n',
	columns: {
		ID: "id",
		ENDPOINT: "endpoint",
		STATE: "state",
		CREATED: ({ createdAt }) => shortTime(createdAt),
		TRIES: ({ tries }) => tries.length,
		"LAST RESPONSE": ({ tries }) => tries.at(-1)?.status ?? tries.at(-1)?.error,
		URL: "url",
	},
});

const redeliver = serviceAction({
	name: "redeliver",
	args: ["ID"],
	summary: "send a finished delivery again",
	examples: ["sluice webhooks redeliver msg_68f696d3_0"],
	request: "POST /v1/webhooks/{ID}/redeliver",
	text: (_, { args: [id] }) => `Queued delivery ${id} again.\n`,
});

export const webhooks: CommandGroup = {
	name: "webhooks",
	summary: "list webhook deliveries and send them again",
	actions: [list, redeliver],
};
