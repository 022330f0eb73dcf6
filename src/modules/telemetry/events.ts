/** Events of traces (D52). */
import { warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** Spans could not be exported; at most once a minute. */
	"telemetry.failed": warn<{ reason: string }>(({ reason }) => `traces could not be exported: ${reason}`),
};
