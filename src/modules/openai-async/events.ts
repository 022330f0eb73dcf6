/** Events of batches (D57). */
import { info, warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	"batch.created": info<{ endpoint: string; batch: string }>(
		({ endpoint, batch }) => `${endpoint}: batch ${batch} was created`,
	),
	/** It cannot go on at present, and is tried again every 2 s. At most once in 10 minutes. */
	"batch.delayed": warn<{ endpoint: string; batch: string; reason: string }>(
		({ endpoint, batch, reason }) => `${endpoint}: batch ${batch} is tried again until it can go on: ${reason}`,
	),
	"batch.ended": info<{ endpoint: string; batch: string; status: string; completed: number; failed: number }>(
		({ endpoint, batch, status, completed, failed }) =>
			`${endpoint}: batch ${batch} is ${status}, with ${completed} answers and ${failed} requests without one`,
	),
};
