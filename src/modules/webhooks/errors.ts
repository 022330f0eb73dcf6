/** Errors of webhooks (D21). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	delivery_not_found: {
		status: 404,
		sentence: "There is no webhook delivery '{delivery}': the id is unknown, or the delivery is more than 7 days old.",
		advice: "List the deliveries.",
	},
	delivery_pending: {
		status: 409,
		sentence: "Delivery '{delivery}' is in progress; it can be sent again once it has been delivered or has failed.",
		advice: "Wait for its end.",
	},
});
