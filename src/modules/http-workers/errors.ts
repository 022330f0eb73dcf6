/** Errors of HTTP workers. */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	no_http: {
		status: 404,
		sentence:
			"Endpoint '{endpoint}' has no setting http, so its workers take jobs themselves. " +
			"Set http to the name of a preset or to a mapping.",
		advice: "Set http of the endpoint, or use another endpoint.",
	},
});
