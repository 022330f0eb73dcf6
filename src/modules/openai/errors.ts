/** Errors of OpenAI's API in front of an endpoint (D32), and of background responses (D58). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	openai_path_not_found: {
		status: 404,
		sentence: "There is no {method} {path}: no path of OpenAI's API ends with a slash.",
		advice: "Often the id behind it is empty, such as that of a file or a batch.",
	},
	response_not_found: {
		status: 404,
		sentence: "Response with id '{response}' not found.",
		advice: "Without `store: true` a background response is kept for 10 minutes after its end.",
	},
});
