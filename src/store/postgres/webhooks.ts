/** Webhook deliveries (D21). */
import type { DeliveryState } from "../../core/delivery.ts";
import { afterAttempt } from "../../core/receiver.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { recordTry, withoutNumber } from "../operations/steps.ts";
import type { Signal } from "../contract/store.ts";
import { INLINE_BYTES, type SizedDelivery, type WebhookStore } from "../contract/webhooks.ts";
import type { Database } from "./connection/database.ts";
import { deliveryOf } from "./rows/deliveries.ts";
import { DELIVERY_COLUMNS, RECEIVER_COLUMNS, receiverFrom, receiverValues } from "../table-rows.ts";
import { jsonTextOf } from "./rows/buffer-transfer.ts";
import { texts } from "./connection/arrays.ts";
import { type Runner, statement, type Statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

/** Endpoints with pending deliveries, and when the first of each is due: one search of the index for each. */
const READY = `
  WITH RECURSIVE ready AS (
    (SELECT endpoint, due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY endpoint, due_at LIMIT 1)
    UNION ALL
    SELECT next.endpoint, next.due_at FROM ready, LATERAL (
      SELECT endpoint, due_at FROM deliveries WHERE due_at IS NOT NULL AND endpoint > ready.endpoint
      ORDER BY endpoint, due_at LIMIT 1) AS next
  )`;

/**
 * One statement, unlike SQLite: rows claimed by another server are skipped. The last columns are
 * body, size, disabling, whether the receiver is paused, and the order.
 */
const CLAIM = statement(`
  ${READY}, turns AS MATERIALIZED (
    SELECT endpoint, count(*) OVER () AS count FROM (
      SELECT endpoint FROM ready WHERE due_at <= $1 AND endpoint <> ALL ($5::text[])
      ORDER BY due_at LIMIT $2) AS first
  ), due AS MATERIALIZED (
    SELECT one.* FROM turns, LATERAL (
      SELECT number, endpoint, receiver, due_at FROM deliveries
      WHERE due_at <= $1 AND deliveries.endpoint = turns.endpoint ORDER BY due_at, number
      LIMIT greatest(1, least($3::bigint, $2::bigint / count)) FOR UPDATE SKIP LOCKED) AS one
  ), held AS MATERIALIZED (
    SELECT due.number AS claimed, due_at AS was_due, disabled_at,
      CASE WHEN disabled_at IS NULL AND paused_until > $1 THEN paused_until END AS paused
    FROM due LEFT JOIN receivers USING (endpoint, receiver)
  )
  UPDATE deliveries SET due_at = coalesce(paused, $4), in_flight = paused IS NULL FROM held WHERE number = claimed
  RETURNING ${DELIVERY_COLUMNS}, CASE WHEN octet_length(body) <= ${INLINE_BYTES} THEN body END,
    octet_length(body), disabled_at, paused IS NOT NULL, was_due`);
const NEXT_DUE = statement(`${READY} SELECT min(due_at) FROM ready WHERE endpoint <> ALL ($1::text[])`);
const PENDING_COUNTS = statement(`${READY} SELECT endpoint, (
    SELECT count(*) FROM (SELECT 1 FROM deliveries
      WHERE due_at IS NOT NULL AND deliveries.endpoint = ready.endpoint LIMIT $1) AS counted)
  FROM ready`);
const BODY = statement("SELECT body FROM deliveries WHERE id = $1 AND body <> ''");
const COLUMNS = RECEIVER_COLUMNS.join(", ");
const STANDING = statement(`SELECT ${COLUMNS} FROM receivers WHERE endpoint = $1 AND receiver = $2 FOR UPDATE`);
const SET_STANDING = statement(
	`INSERT INTO receivers (${COLUMNS}) VALUES (${RECEIVER_COLUMNS.map((_, at) => `$${at + 1}`).join(", ")})
  ON CONFLICT (endpoint, receiver) DO UPDATE SET ${RECEIVER_COLUMNS.slice(2)
		.map((column) => `${column} = excluded.${column}`)
		.join(", ")}`,
);
const DROP_STANDING = statement("DELETE FROM receivers WHERE endpoint = $1 AND receiver = $2");
const DUE_NOW = statement(
	`UPDATE deliveries SET due_at = $3
  WHERE endpoint = $1 AND receiver = $2 AND due_at > $3 AND NOT in_flight`,
);
const PUT_OFF = statement("UPDATE deliveries SET due_at = $4 WHERE endpoint = $1 AND receiver = $2 AND due_at = $3");
const RECEIVERS = statement(
	`SELECT ${COLUMNS} FROM receivers WHERE $1::text IS NULL OR endpoint = $1
  ORDER BY failing_since, endpoint, receiver LIMIT $2`,
);
const PENDING = statement(
	`SELECT ${DELIVERY_COLUMNS}, receiver FROM deliveries WHERE id = $1 AND state = 'pending' FOR UPDATE`,
);
const TRIED = statement(
	`UPDATE deliveries SET tries = $2, used = $3, state = $4, due_at = $5, in_flight = false,
    body = CASE WHEN erase AND $4 <> 'pending' THEN '' ELSE body END
  WHERE id = $1`,
);
const REDELIVER = statement(
	"UPDATE deliveries SET state = 'pending', used = 0, due_at = $2 WHERE id = $1 AND state <> 'pending'",
);
const FIND = statement(`SELECT ${DELIVERY_COLUMNS}, octet_length(body) FROM deliveries WHERE id = $1`);
/** MATERIALIZED: a subquery re-run per row would skip deleted rows and exceed the limit. */
const EXPIRE = statement(`
  WITH old AS MATERIALIZED (SELECT number FROM deliveries WHERE due_at IS NULL AND created_at < $1
    ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM deliveries USING old WHERE deliveries.number = old.number`);

const LAST = Number.MAX_SAFE_INTEGER;

/** Signals after the commit: to this server's listeners, and to other servers. */
interface Heard {
	signal: (each: Signal) => void;
	notifyOthers: (each: Signal) => void;
}

export function openWebhooks({
	database: { read, write },
	signal,
	notifyOthers,
}: { database: Database } & Heard): WebhookStore {
	async function find(id: string): Promise<SizedDelivery | undefined> {
		const [found] = isStorable(id) ? (await read.run(FIND, [id])).rows : [];
		return found && { ...withoutNumber(deliveryOf(found)), bytes: Number(found.at(-1)) };
	}

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
					const [body, bytes, disabledAt, paused] = values.slice(-5);
					return paused === true
						? []
						: {
								...withoutNumber(deliveryOf(values)),
								bytes: Number(bytes),
								body: (body as string | null) || undefined,
								disabledAt: (disabledAt as number | null) ?? undefined,
							};
				});
			return { due, nextDueAt: nextDueAt ?? undefined };
		},

		async body({ id }) {
			const [found] = (await read.run(BODY, [id])).rows;
			return found && jsonTextOf(String(found[0]));
		},

		async tried({ counts, ...q }) {
			const { after, resumed } = await write(async ({ run }) => {
				const [found] = (await run(PENDING, [q.id])).rows;
				if (!found) return {};
				const { id, endpoint, tries, used, state, dueAt } = recordTry(deliveryOf(found), q);
				await run(TRIED, [id, JSON.stringify(tries), used, state, dueAt ?? null]);
				if (!counts) return {};
				const receiver = String(found.at(-1));
				const [row] = (await run(STANDING, [endpoint, receiver])).rows;
				const before = row && receiverFrom(row);
				const last = state === "failed";
				const standing = afterAttempt(before, { ...counts, status: q.tried.status, last });
				if (standing) await run(SET_STANDING, receiverValues({ endpoint, receiver, ...standing }));
				else if (before) await run(DROP_STANDING, [endpoint, receiver]);
				const until = before?.pausedUntil;
				if (until === undefined || standing?.pausedUntil !== undefined) return { after: standing };
				// What was put off to the end of the pause is due; the time between attempts stays.
				await run(PUT_OFF, [endpoint, receiver, until, counts.now]);
				return { after: standing, resumed: true };
			});
			if (resumed) signal({ kind: "delivery" });
			return after;
		},

		async receivers({ endpoint, limit }) {
			if (!isStorable(endpoint ?? "")) return [];
			return (await read.run(RECEIVERS, [endpoint ?? null, limit])).rows.map(receiverFrom);
		},

		async enable({ endpoint, receiver, now }) {
			if (!isStorable(endpoint + receiver)) return false;
			const enabled = await write(async ({ run }) => {
				if ((await run(STANDING, [endpoint, receiver])).rows.length === 0) return false;
				await resume(run, { endpoint, receiver, now });
				return true;
			});
			if (enabled) for (const send of [signal, notifyOthers]) send({ kind: "delivery" });
			return enabled;
		},

		async pending({ atMost }) {
			const { rows } = await read.run(PENDING_COUNTS, [atMost]);
			return rows.map(([endpoint, count]) => ({
				endpoint: String(endpoint),
				count: Number(count),
			}));
		},

		async redeliver({ id, now }) {
			if (!isStorable(id)) return "missing";
			const { count } = await write((run) => run.run(REDELIVER, [id, now]));
			if (count === 0) return (await find(id)) ? "pending" : "missing";
			for (const send of [signal, notifyOthers]) send({ kind: "delivery" });
			return "due";
		},

		find: ({ id }) => find(id),

		async list({ cursor, limit, ...filter }) {
			const below = numberOf(cursor) ?? LAST;
			const { endpoint, job, state } = filter;
			if (!isStorable(`${endpoint}${job}`)) return { deliveries: [], next: undefined };
			const given = [endpoint, job].filter((value) => value !== undefined);
			const { rows } = await read.run(listBy({ endpoint: endpoint !== undefined, job: job !== undefined, state }), [
				below,
				limit + 1,
				...given,
			]);
			const found = rows.map(deliveryOf);
			const page = found.slice(0, limit);
			const last = page.at(-1);
			return {
				deliveries: page.map(withoutNumber),
				next: last && found.length > limit ? cursorOf(last.number) : undefined,
			};
		},

		async expire({ before, limit }) {
			return (await write((run) => run.run(EXPIRE, [before, limit]))).count;
		},
	};
}

/** The receiver is to be called: its pending deliveries are due, but for those in flight. */
async function resume(
	run: Runner["run"],
	{ endpoint, receiver, now }: { endpoint: string; receiver: string; now: number },
): Promise<void> {
	await run(DROP_STANDING, [endpoint, receiver]);
	await run(DUE_NOW, [endpoint, receiver, now]);
}

const lists = new Map<string, Statement>();

/**
 * Lists deliveries below a number, highest first. The state is literal SQL, since a parameter would
 * prevent the partial index.
 */
function listBy(filter: { endpoint: boolean; job: boolean; state: DeliveryState | undefined }): Statement {
	const conditions = ["number < $1"];
	for (const column of ["endpoint", "job"] as const)
		if (filter[column]) conditions.push(`${column} = $${conditions.length + 2}`);
	if (filter.state !== undefined) conditions.push(`state = '${filter.state}'`);
	const where = conditions.join(" AND ");
	const found =
		lists.get(where) ??
		statement(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${where} ORDER BY number DESC LIMIT $2`);
	lists.set(where, found);
	return found;
}
