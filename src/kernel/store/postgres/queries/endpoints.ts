import type { EndpointStore } from "../../contract/endpoints.ts";
import type { JobStore } from "../../contract/jobs.ts";
import { forget, isForgettable } from "../../tables/endpoints.ts";
import { statement } from "../connection/statement.ts";
import { inTransaction, type TableContext } from "../tables.ts";

// Locked, to wait for submissions of other servers that are not committed yet.
const COUNTS = statement(
	"SELECT in_queue + in_progress FROM queue_counts WHERE endpoint = $1 ORDER BY slot FOR UPDATE",
);
const FORGET_TOTALS = statement("UPDATE queue_counts SET completed = 0, failed = 0, retried = 0 WHERE endpoint = $1");

const SETTLE_LIMIT = 500;

export function openEndpoints({
	settle,
	...context
}: TableContext & { settle: JobStore["settle"] }): Pick<EndpointStore, "forget"> {
	return {
		async forget({ id, now }) {
			// Contract rule 7.
			for (let due: number | undefined = now; due !== undefined && due <= now; )
				due = (await settle({ now, limit: SETTLE_LIMIT })).nextDueAt;
			return await inTransaction(context, async (work, { run }) => {
				// Before the deliveries: a job that another server is ending may add one.
				const live = (await run(COUNTS, [id])).rows.reduce((sum, [count]) => sum + Number(count), 0);
				const forgettable = await work(isForgettable(id));
				if (forgettable === undefined) return true;
				if (!forgettable || live > 0) return false;
				// The rows stay for the records of its jobs.
				await run(FORGET_TOTALS, [id]);
				await work(forget(id));
				return true;
			});
		},
	};
}
