/** `sluice audit`: what administrators changed (D42, D36). */
import type { AuditEntry } from "./routes.ts";
import { PAGE_FLAGS } from "../../cli/framework/common-flags.ts";
import { listAction } from "../../cli/framework/service-action.ts";
import { queryOf } from "../../cli/client/service-client.ts";
import { shortTime } from "../../cli/framework/table.ts";

export const audit = listAction<AuditEntry>({
	name: "audit",
	args: [],
	summary: "list what administrators changed, newest first",
	flags: {
		"key-id": { value: "ID", summary: "only entries of the key with this id" },
		action: { value: "NAME", summary: "only this operation, such as createKey" },
		...PAGE_FLAGS,
	},
	examples: ["sluice audit --action createKey"],
	request: "GET /v1/audit",
	query: (flags) => queryOf({ ...flags, key: flags["key-id"] }, ["key", "action", ...Object.keys(PAGE_FLAGS)]),
	member: "entries",
	empty: (_, { query }) => (query.has("key") || query.has("action") ? "No matching entries.\n" : "No entries.\n"),
	columns: {
		AT: ({ at }) => shortTime(at),
		KEY: "keyName",
		ADDRESS: "address",
		ACTION: ({ action, count }) => (count === undefined ? action : `${action} (${count} times)`),
		SUBJECT: ({ subject }) => subject.join(" "),
		RESULT: "result",
	},
});
