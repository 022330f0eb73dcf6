/** Errors of releases (D50). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	release_not_found: {
		status: 404,
		sentence:
			"Endpoint '{endpoint}' has no version '{version}', or it is not kept any more. " +
			"GET /v1/endpoints/{endpoint}/releases lists those that are.",
		advice: "List the releases of the endpoint.",
	},
	release_refused: { status: 409, sentence: "{why}", advice: "Do what the sentence says." },
});
