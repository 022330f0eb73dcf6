/** `sluice audit`: what administrators changed (D42, D36). */
import type { AuditEntry } from "../api/audit.ts";
import type { Action } from "./command.ts";
import { JSON_FLAG, PAGE_FLAGS, printAnswer, printNextPage } from "./common-flags.ts";
import { path, queryOf } from "./service-client.ts";
import { shortTime, table } from "./table.ts";

const FILTERS = {
	"key-id": { value: "ID", summary: "only entries of the key with this id" },
	action: { value: "NAME", summary: "only this operation, such as createKey" },
} as const;

export const audit: Action = {
	name: "audit",
	args: [],
	summary: "list what administrators changed, newest first",
	flags: { ...FILTERS, ...PAGE_FLAGS, ...JSON_FLAG },
	examples: ["sluice audit --action createKey"],
	async run(input) {
		const query = queryOf({ ...input.flags, key: input.flags["key-id"] }, [
			"key",
			"action",
			...Object.keys(PAGE_FLAGS),
		]);
		const answer = await input.service.request("GET", path`/v1/audit?${query}`);
		const { entries, next } = answer.json as { entries: AuditEntry[]; next: string | null };
		printAnswer(answer, input, () =>
			entries.length === 0
				? `${query.has("key") || query.has("action") ? "No matching entries" : "No entries"}.\n`
				: table(["AT", "KEY", "ADDRESS", "ACTION", "SUBJECT", "RESULT"], entries.map(row)),
		);
		printNextPage(next, input);
		return 0;
	},
};

function row({ at, keyName, address, action, subject, result, count }: AuditEntry): (string | undefined)[] {
	const times = count === undefined ? "" : ` (${count} times)`;
	return [shortTime(at), keyName, address, action + times, subject.join(" "), result];
}
