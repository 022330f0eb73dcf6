/** Errors of background responses (D58). */
import { errorTable } from "../../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	response_not_found: {
		status: 404,
		sentence: "Response with id '{response}' not found.",
		advice: "Without `store: true` a background response is kept for 10 minutes after its end.",
	},
});
