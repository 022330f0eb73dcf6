/** Errors of releases (D50). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	release_not_found: {
		status: 404,
		sentence:
			"Endpoint '{endpoint}' has no version '{version}', or it was removed as too old. " +
			"GET /v1/endpoints/{endpoint}/releases lists the versions that are kept.",
		advice: "List the releases of the endpoint.",
	},
	release_refused: { status: 409, sentence: "{why}", advice: "Do what the sentence says." },
});
