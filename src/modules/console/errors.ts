/** Errors of sign-ins and sessions (D31). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	console_link_over: {
		status: 401,
		sentence:
			"This sign-in link has expired or was already used. Run 'sluice console' for a new one, or " +
			"sign in with an API key at /console/.",
		advice: "Create another one with `sluice console`, or sign in with a key.",
	},
	session_not_found: {
		status: 404,
		sentence: "There is no session '{session}', or it has ended. GET /v1/sessions lists all.",
		advice: "List the sessions; it may have ended since.",
	},
});
