/** Errors of alerts (D53). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	silence_not_found: {
		status: 404,
		sentence:
			"There is no such silence of {alert}. GET /v1/alerts lists all; for a silence of one endpoint add ?endpoint=.",
		advice: "List the alerts and silences.",
	},
});
