/** Errors of logins to registries (D45). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	registry_not_found: {
		status: 404,
		sentence: "There is no login to the registry '{registry}'. GET /v1/registries lists those that exist.",
		advice: "List the registries.",
	},
});
