/** Webhook deliveries as rows (D21). */
import type { NewDelivery } from "../../../core/delivery.ts";
import { numbers, texts } from "../connection/arrays.ts";
import { type Runner, statement } from "../connection/statement.ts";

// Numbered in the given order.
const INSERT = statement(`
  INSERT INTO deliveries (id, endpoint, job, url, receiver, body, state, created_at, due_at)
  SELECT id, endpoint, job, url, receiver, body, 'pending', created_at, created_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    WITH ORDINALITY AS given (id, endpoint, job, url, receiver, body, created_at, place)
  ORDER BY place`);

/** Adds deliveries, due immediately, in the transaction of `run`. URLs are JSON: PostgreSQL's text has no U+0000. */
export async function insertDeliveries(run: Runner["run"], rows: readonly NewDelivery[]): Promise<void> {
	if (rows.length === 0) return;
	const column = (name: "id" | "endpoint" | "job" | "receiver" | "body"): Buffer => texts(rows.map((row) => row[name]));
	await run(INSERT, [
		column("id"),
		column("endpoint"),
		column("job"),
		texts(rows.map(({ url }) => JSON.stringify(url))),
		column("receiver"),
		column("body"),
		numbers(rows.map(({ createdAt }) => createdAt)),
	]);
}

const ERASE = statement(`
  UPDATE deliveries SET erase = true, body = CASE WHEN due_at IS NULL THEN '' ELSE body END
  FROM unnest($1::text[], $2::text[]) AS erased (endpoint, job)
  WHERE deliveries.job = erased.job AND deliveries.endpoint = erased.endpoint`);

/** Drops the bodies of these jobs' deliveries once they are finished. */
export async function eraseDeliveries(
	run: Runner["run"],
	jobs: readonly { endpoint: string; id: string }[],
): Promise<void> {
	if (jobs.length === 0) return;
	await run(ERASE, [texts(jobs.map(({ endpoint }) => endpoint)), texts(jobs.map(({ id }) => id))]);
}
