/** Forgets endpoints whose last job has ended. */
import type { EndpointStore } from "../contract/endpoints.ts";
import type { JobStore } from "../contract/jobs.ts";
import type { Signal } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

const KNOWN = statement("SELECT removing FROM endpoints WHERE id = $1 FOR UPDATE");
// Locked, to wait for and count submissions of other servers that are not committed yet.
const COUNTS = statement(
	"SELECT in_queue + in_progress FROM queue_counts WHERE endpoint = $1 ORDER BY slot FOR UPDATE",
);
const PENDING = statement(
	"SELECT 1 FROM deliveries WHERE state <> 'delivered' AND state = 'pending' AND endpoint = $1 LIMIT 1",
);
const FORGET_TOTALS = statement("UPDATE queue_counts SET completed = 0, failed = 0, retried = 0 WHERE endpoint = $1");
const FORGET_TOKENS = statement("DELETE FROM tokens WHERE endpoint = $1");
const FORGET_WORKERS = statement("DELETE FROM ended_workers WHERE endpoint = $1");
const FORGET_METRICS = statement("DELETE FROM metrics WHERE endpoint = $1");
const FORGET = statement("DELETE FROM endpoints WHERE id = $1");

/** Jobs settled in one step before an endpoint is forgotten. */
const SETTLE_LIMIT = 500;

/** `notifyOthers` is called after the commit. `settle` is the one of the contract. */
export function openEndpoints({
	database,
	notifyOthers,
	settle,
}: {
	database: Database;
	notifyOthers: (signal: Signal) => void;
	settle: JobStore["settle"];
}): Pick<EndpointStore, "forget"> {
	return {
		async forget({ id, now }) {
			// Contract rule 7.
			for (let due: number | undefined = now; due !== undefined && due <= now; )
				due = (await settle({ now, limit: SETTLE_LIMIT })).nextDueAt;
			const outcome = await database.write(async ({ run }) => {
				const removing = (await run(KNOWN, [id])).rows[0]?.[0];
				if (removing === undefined) return "missing";
				const live = (await run(COUNTS, [id])).rows.reduce((sum, [count]) => sum + Number(count), 0);
				if (removing !== true || live > 0 || (await run(PENDING, [id])).rows.length > 0) return "kept";
				// The rows stay for the records of its jobs.
				await run(FORGET_TOTALS, [id]);
				await run(FORGET_TOKENS, [id]);
				await run(FORGET_METRICS, [id]);
				await run(FORGET_WORKERS, [id]);
				await run(FORGET, [id]);
				return "removed";
			});
			if (outcome === "removed") for (const kind of ["endpoints", "access"] as const) notifyOthers({ kind });
			return outcome !== "kept";
		},
	};
}
