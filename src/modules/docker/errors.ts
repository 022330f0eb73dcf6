/** Errors of hosts. */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	host_not_found: {
		status: 404,
		sentence: "There is no host '{host}' in the configuration. GET /v1/hosts lists all.",
		advice: "List the hosts; they are `hosts` in `sluice.yaml`.",
	},
});
