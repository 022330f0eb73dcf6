/** Webhook deliveries (D21). */
import type { NewDelivery } from "../../../core/webhooks.ts";
import type { JobKey } from "../../operations/unit-of-work.ts";
import { rowsOf } from "../connection/arrays.ts";
import { type Runner, statement } from "../connection/statement.ts";
import { KEYS } from "./row.ts";

const ROWS = rowsOf<NewDelivery>({
	id: "text",
	endpoint: "text",
	job: "text",
	// JSON: PostgreSQL's text has no U+0000.
	url: ["text", ({ url }) => JSON.stringify(url)],
	receiver: "text",
	body: "text",
	created_at: ["int8", ({ createdAt }) => createdAt],
});

const INSERT = statement(`
  INSERT INTO deliveries (${ROWS.names}, state, due_at)
  SELECT ${ROWS.names}, 'pending', created_at
  FROM (${ROWS.select}, generate_subscripts($1::text[], 1) AS place) AS given ORDER BY place`);

/** The deliveries are due immediately. */
export async function insertDeliveries(run: Runner["run"], rows: readonly NewDelivery[]): Promise<void> {
	if (rows.length > 0) await run(INSERT, ROWS.values(rows));
}

const ERASE = statement(`
  UPDATE deliveries SET erase = true, body = CASE WHEN due_at IS NULL THEN '' ELSE body END
  FROM (${KEYS.select}) AS erased
  WHERE deliveries.job = erased.id AND deliveries.endpoint = erased.endpoint`);

/** Drops the bodies once the deliveries are finished. */
export async function eraseDeliveries(run: Runner["run"], jobs: readonly JobKey[]): Promise<void> {
	if (jobs.length > 0) await run(ERASE, KEYS.values(jobs));
}
