/** `sluice webhooks`: deliveries (D21, D36). */
import type { Delivery, Receiver } from "../api/webhooks.ts";
import type { Action, CommandGroup } from "./command.ts";
import { JSON_FLAG, PAGE_FLAGS, printAnswer, printNextPage } from "./common-flags.ts";
import { path, queryOf } from "./service-client.ts";
import { shortTime, table } from "./table.ts";

const FILTERS = {
	endpoint: { value: "ID", summary: "only deliveries of this endpoint" },
	job: { value: "JOB", summary: "only deliveries of this job" },
	state: { value: "STATE", summary: "pending, delivered or failed" },
} as const;

const HEADINGS = ["ID", "ENDPOINT", "STATE", "CREATED", "TRIES", "LAST RESPONSE", "URL"];

const list: Action = {
	name: "list",
	args: [],
	summary: "list deliveries, newest first",
	flags: { ...FILTERS, ...PAGE_FLAGS, ...JSON_FLAG },
	examples: ["sluice webhooks list --state failed"],
	async run(input) {
		const query = queryOf(input.flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]);
		const answer = await input.service.request("GET", path`/v1/webhooks?${query}`);
		const { deliveries, next } = answer.json as { deliveries: Delivery[]; next: string | null };
		printAnswer(answer, input, () => {
			if (deliveries.length > 0) return table(HEADINGS, deliveries.map(row));
			return query.size > 0
				? "No matching deliveries.\n"
				: 'No deliveries. Submit a job with "webhook": "https://..." to be notified when it ends.\n';
		});
		printNextPage(next, input);
		return 0;
	},
};

function row(delivery: Delivery): (string | number | undefined)[] {
	const { id, endpoint, state, createdAt, tries, url } = delivery;
	const last = tries.at(-1);
	return [id, endpoint, state, shortTime(createdAt), tries.length, last?.status ?? last?.error, url];
}

const redeliver: Action = {
	name: "redeliver",
	args: ["ID"],
	summary: "send a finished delivery again",
	flags: JSON_FLAG,
	async run(input) {
		const [id = ""] = input.args;
		const answer = await input.service.request("POST", path`/v1/webhooks/${id}/redeliver`);
		return printAnswer(answer, input, () => `Queued delivery ${id} again.\n`);
	},
};

const receivers: Action = {
	name: "receivers",
	args: [],
	summary: "list receivers that fail, with those that are paused or disabled",
	flags: { endpoint: FILTERS.endpoint, ...JSON_FLAG },
	async run(input) {
		const query = queryOf(input.flags, ["endpoint"]);
		const answer = await input.service.request("GET", path`/v1/webhooks/receivers?${query}`);
		const found = (answer.json as { receivers: Receiver[] }).receivers;
		return printAnswer(answer, input, () =>
			found.length === 0
				? "No receiver fails.\n"
				: table(
						["ENDPOINT", "RECEIVER", "STATE", "FAILING SINCE", "FAILURES", "REASON"],
						found.map((each) => [
							each.endpoint,
							each.receiver,
							stateOf(each),
							shortTime(each.failingSince),
							each.failures,
							each.reason,
						]),
					),
		);
	},
};

function stateOf({ pausedUntil, disabledAt }: Receiver): string {
	if (disabledAt !== undefined) return "disabled";
	return pausedUntil === undefined ? "failing" : `paused until ${shortTime(pausedUntil)}`;
}

const enable: Action = {
	name: "enable",
	args: ["ENDPOINT", "RECEIVER"],
	summary: "call a paused or disabled receiver (its host and port) again, at once",
	flags: JSON_FLAG,
	examples: ["sluice webhooks enable hello receiver.example.com:443"],
	async run(input) {
		const [endpoint = "", receiver = ""] = input.args;
		const answer = await input.service.request(
			"POST",
			path`/v1/endpoints/${endpoint}/webhook-receivers/${receiver}/enable`,
		);
		return printAnswer(answer, input, () => `Receiver ${receiver} is called again.\n`);
	},
};

export const webhooks: CommandGroup = {
	name: "webhooks",
	summary: "list webhook deliveries and send them again",
	actions: [list, redeliver, receivers, enable],
};
