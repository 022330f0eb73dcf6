/** Events of alerts (D53). */
import { error, info, warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** Receivers of alerts get a message about it (D53). */
	"alert.fired": warn<{ alert: string; summary: string }>(({ alert, summary }) => `${alert}: ${summary}`),
	"alert.resolved": info<{ alert: string; summary: string }>(
		({ alert, summary }) => `${alert} is resolved; it was: ${summary}`,
	),
	/** A receiver did not accept a message about alerts; the next attempt is after `retryMs` (D53). */
	"alert.unsent": error<{ receiver: string; reason: string; retryMs: number }>(
		({ receiver, reason, retryMs }) =>
			`the receiver ${receiver} was not notified of alerts: ${reason}; next try in ${retryMs / 1000} s`,
	),
};
