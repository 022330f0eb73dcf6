/** Events of webhooks (D21); `webhook.delivered` and `webhook.failed` are of the kernel: `sluice dev` prints one. */
import { warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	/**
	 * A receiver did not answer several attempts of an endpoint in a row: further webhooks of the endpoint to it wait
	 * for `retryMs` (D21).
	 */
	"webhook.paused": warn<{ endpoint: string; host: string; reason: string; unanswered: number; retryMs: number }>(
		({ endpoint, host, unanswered, reason, retryMs }) =>
			`${endpoint}: webhooks to ${host} are paused for ${retryMs / 1000} s: ${unanswered} attempts in a row ` +
			`were not answered, the last because ${reason}`,
	),
};
