/** Webhook deliveries (D21). */
import { INLINE_BYTES } from "../../contract/webhooks.ts";
import type { Operation } from "../../../core/jobs/job.ts";
import { recordTry } from "../../operations/steps.ts";
import type { AllDialectMethods } from "../../operations/table.ts";
import { DELIVERIES, withoutNumber, attempted, PENDING_ENDPOINTS } from "../../tables/webhooks.ts";
import { texts } from "../connection/arrays.ts";
import { statement } from "../connection/statement.ts";
import { jsonTextOf } from "../rows/buffer-transfer.ts";
import { inTransaction, type TableContext } from "../tables.ts";

const FIRST_DUE = `${PENDING_ENDPOINTS}, ready AS MATERIALIZED (
    SELECT endpoint, (SELECT min(due_at) FROM deliveries
      WHERE due_at IS NOT NULL AND deliveries.endpoint = pending.endpoint) AS due_at
    FROM pending WHERE endpoint IS NOT NULL)`;

/**
 * Rows claimed by another server are skipped. The last columns are request id, trace and size of the input of the job,
 * body, size, whether the receiver is paused, and the order.
 */
const CLAIM = statement(`
  ${FIRST_DUE}, turns AS MATERIALIZED (
    SELECT endpoint, count(*) OVER () AS count FROM (
      SELECT endpoint FROM ready WHERE due_at <= $1 AND endpoint <> ALL ($5::text[])
      ORDER BY due_at LIMIT $2) AS first
  ), due AS MATERIALIZED (
    SELECT one.* FROM turns, LATERAL (
      SELECT number, endpoint, receiver, due_at FROM deliveries
      WHERE due_at <= $1 AND deliveries.endpoint = turns.endpoint ORDER BY due_at, number
      LIMIT greatest(1, least($3::bigint, $2::bigint / count)) FOR UPDATE SKIP LOCKED) AS one
  ), held AS MATERIALIZED (
    SELECT due.number AS claimed, due_at AS was_due, CASE WHEN paused_until > $1 THEN paused_until END AS paused
    FROM due LEFT JOIN receivers USING (endpoint, receiver)
  )
  UPDATE deliveries SET due_at = coalesce(paused, $4) FROM held WHERE number = claimed
  RETURNING ${DELIVERIES.names},
    (SELECT json_build_array(request_id, trace, CASE WHEN input IS NULL THEN 0 ELSE input_bytes END, operation)::text
      FROM jobs WHERE jobs.endpoint = deliveries.endpoint AND jobs.id = deliveries.job),
    CASE WHEN octet_length(body) <= ${INLINE_BYTES} THEN body END,
    octet_length(body), paused IS NOT NULL, was_due`);
const NEXT_DUE = statement(`${FIRST_DUE} SELECT min(due_at) FROM ready WHERE endpoint <> ALL ($1::text[])`);
const BODY = statement("SELECT body FROM deliveries WHERE id = $1 AND body <> ''");
const INPUT = statement(`
  SELECT input FROM deliveries JOIN jobs ON jobs.endpoint = deliveries.endpoint AND jobs.id = deliveries.job
  WHERE deliveries.id = $1 AND input IS NOT NULL`);
const PENDING = statement(
	`SELECT ${DELIVERIES.names}, receiver FROM deliveries WHERE id = $1 AND state = 'pending' FOR UPDATE`,
);
const TRIED = statement(
	`UPDATE deliveries SET tries = $2, used = $3, state = $4, due_at = $5,
    body = CASE WHEN erase AND $4 <> 'pending' THEN '' ELSE body END
  WHERE id = $1`,
);
/** MATERIALIZED: a subquery re-run per row would skip deleted rows and exceed the limit. */
const EXPIRE = statement(`
  WITH old AS MATERIALIZED (SELECT number FROM deliveries WHERE due_at IS NULL AND created_at < $1
    ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM deliveries USING old WHERE deliveries.number = old.number`);

type JobFacts = [requestId?: string | null, trace?: string | null, inputBytes?: number, operation?: Operation];

export function openWebhooks(context: TableContext): AllDialectMethods["webhooks"] {
	const { read, write } = context.database;
	return {
		async claim({ limit, each, skip, holdMs, now }) {
			const skipped = texts(skip);
			const { rows, nextDueAt } = await write(async ({ run }) => {
				const claimed = await run(CLAIM, [now, limit, each, now + holdMs, skipped]);
				return {
					rows: claimed.rows,
					nextDueAt: (await run(NEXT_DUE, [skipped])).rows[0]?.[0] as number | null | undefined,
				};
			});
			const due = rows
				.toSorted((one, other) => Number(one.at(-1)) - Number(other.at(-1)) || Number(one[0]) - Number(other[0]))
				.flatMap((values) => {
					const [origin, body, bytes, paused] = values.slice(-5);
					const [requestId, trace, inputBytes, operation] = JSON.parse(String(origin ?? "[]")) as JobFacts;
					return paused === true
						? []
						: {
								...withoutNumber(DELIVERIES.from(values)),
								bytes: Number(bytes),
								body: (body as string | null) || undefined,
								inputBytes: inputBytes ?? 0,
								operation,
								requestId: requestId ?? undefined,
								trace: trace ?? undefined,
							};
				});
			return { due, nextDueAt: nextDueAt ?? undefined };
		},

		async body({ id }) {
			const [found] = (await read.run(BODY, [id])).rows;
			return found && jsonTextOf(String(found[0]));
		},

		async input({ id }) {
			const [found] = (await read.run(INPUT, [id])).rows;
			return found && jsonTextOf(String(found[0]));
		},

		tried: ({ counts, ...q }) =>
			inTransaction(context, async (work, { run }) => {
				const [found] = (await run(PENDING, [q.id])).rows;
				if (!found) return undefined;
				const { id, endpoint, tries, used, state, dueAt } = recordTry(DELIVERIES.from(found), q);
				await run(TRIED, [id, JSON.stringify(tries), used, state, dueAt ?? null]);
				if (!counts) return undefined;
				const isAnswered = q.tried.status !== undefined;
				return await work(attempted({ endpoint, receiver: String(found.at(-1)), ...counts, isAnswered }));
			}),

		async expire({ before, limit }) {
			return (await write((run) => run.run(EXPIRE, [before, limit]))).count;
		},
	};
}
