/** `sluice webhooks`: deliveries (D21, D36). */
import { JSON_FLAG, PAGE_FLAGS, printed, tellNext } from "./common-flags.ts";
import { noun } from "./command.ts";
import type { Action } from "./command.ts";
import { callService, path, queryOf } from "./service-client.ts";
import { short, table } from "./table.ts";

interface Delivery {
	id: string;
	endpoint: string;
	state: string;
	url: string;
	createdAt: string;
	tries: { status?: number; error?: string }[];
}

const FILTERS = {
	endpoint: { value: "ID", summary: "only those of this endpoint" },
	job: { value: "JOB", summary: "only those of this job" },
	state: { value: "STATE", summary: "pending, delivered or failed" },
} as const;

const list: Action = {
	name: "list",
	args: [],
	summary: "deliveries, the last made first",
	flags: { ...FILTERS, ...PAGE_FLAGS, ...JSON_FLAG },
	async run(given) {
		const query = queryOf(given.flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]);
		const told = await callService(process.env).ask("GET", path`/v1/webhooks?${query}`);
		const { deliveries, next } = told.json as { deliveries: Delivery[]; next: string | null };
		printed(told, given, () =>
			deliveries.length === 0
				? none(query.size > 0)
				: table(
						["ID", "ENDPOINT", "STATE", "MADE", "TRIES", "LAST ANSWER", "URL"],
						deliveries.map(row),
					),
		);
		tellNext(next, given);
		return 0;
	},
};

function none(filtered: boolean): string {
	return filtered
		? "No delivery fits.\n"
		: 'There is no delivery. Submit a job with "webhook": "https://..." to have its end told there.\n';
}

function row({
	id,
	endpoint,
	state,
	createdAt,
	tries,
	url,
}: Delivery): (string | number | undefined)[] {
	const last = tries.at(-1);
	return [id, endpoint, state, short(createdAt), tries.length, last?.status ?? last?.error, url];
}

const redeliver: Action = {
	name: "redeliver",
	args: ["ID"],
	summary: "send a delivery that is over anew",
	flags: JSON_FLAG,
	async run(given) {
		const [id = ""] = given.args;
		const told = await callService(process.env).ask("POST", path`/v1/webhooks/${id}/redeliver`);
		return printed(told, given, () => `Delivery ${id} is sent anew.\n`);
	},
};

export const webhooks = noun({
	name: "webhooks",
	summary: "list webhook deliveries and send them anew",
	actions: [list, redeliver],
});
