/** Errors of RunPod's management API (D49). */
import { errorTable } from "../../kernel/core/error-table.ts";
import { type ApiError, withFaults } from "../../kernel/core/errors.ts";
import type { Fault } from "../../kernel/lib/schema.ts";

export const ERRORS = errorTable({
	unprocessable: {
		status: 422,
		sentence: "The request has {count}: {first}",
		advice: "Correct what `errors` names, all at once. Of management operations only.",
	},
	secret_exists: {
		status: 409,
		sentence:
			"The secret '{name}' already exists. Change it with PATCH /v2/account/secrets/ID, or choose another name.",
		advice: "Change it, or choose another name. Of management operations only.",
	},
	not_implemented: {
		status: 501,
		sentence: "{why}",
		isExpected: true,
		advice: "Use what the sentence names. Of management operations only.",
	},
});

/** The 422 for what the schema of an operation refuses. At least one fault. */
export function unprocessable(faults: readonly Fault[]): ApiError {
	return withFaults(ERRORS.unprocessable, faults);
}
