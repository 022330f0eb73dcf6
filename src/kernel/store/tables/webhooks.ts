/**
 * Deliveries, and receivers that do not answer (D21). Claims, bodies and the record of a try differ by dialect: SQLite
 * keeps bodies in their own table, PostgreSQL locks what it claims.
 */
import {
	type DeliveryTry,
	type DeliveryState,
	afterAttempt,
	type ReceiverAttempt,
	type ReceiverHealth,
} from "../../core/webhooks.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";
import { columns, change, rows, signal, type Sql, sql, type Work } from "./work.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { read, write } from "../operations/operation.ts";

/** `number`: order of lists. */
export interface NumberedDelivery extends DeliveryRow {
	number: number;
}

export function withoutNumber(delivery: NumberedDelivery): DeliveryRow {
	const { id, endpoint, job, url, state, tries, used, createdAt, dueAt } = delivery;
	return { id, endpoint, job, url, state, tries, used, createdAt, dueAt };
}

/** PostgreSQL keeps URLs as JSON: its text has no U+0000. */
export const DELIVERIES = columns<NumberedDelivery>(
	"number, id, endpoint, job, url, state, tries, used, created_at, due_at",
	{
		url: (url: string) => (url.startsWith('"') ? (JSON.parse(url) as string) : url),
		tries: (tries: string) => JSON.parse(tries) as DeliveryTry[],
	},
);

/** Endpoints with pending deliveries, then one null: one search of the index for each. */
export const PENDING_ENDPOINTS = `
  WITH RECURSIVE pending (endpoint) AS (
    SELECT min(endpoint) FROM deliveries WHERE due_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(endpoint) FROM deliveries WHERE due_at IS NOT NULL AND endpoint > pending.endpoint)
    FROM pending WHERE endpoint IS NOT NULL)`;

/** Size of the body of a row of `delivery_bodies`, bytes. */
export const SQLITE_BODY_BYTES = `octet_length(body) + ifnull(octet_length(tail), 0)
  + ifnull((SELECT length FROM payloads WHERE payloads.number = payload), 0)`;

const FIND = sql(
	`SELECT ${DELIVERIES.names}, octet_length(body) FROM deliveries WHERE id = $1`,
	`SELECT ${DELIVERIES.names},
    (SELECT ${SQLITE_BODY_BYTES} FROM delivery_bodies WHERE delivery_bodies.number = deliveries.number)
  FROM deliveries WHERE id = $1`,
);
const COUNT_PENDING = sql(`${PENDING_ENDPOINTS}
  SELECT endpoint, (SELECT count(*) FROM (SELECT 1 FROM deliveries
    WHERE due_at IS NOT NULL AND deliveries.endpoint = pending.endpoint LIMIT $1) AS counted),
    (SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND deliveries.endpoint = pending.endpoint)
  FROM pending WHERE endpoint IS NOT NULL`);
const REDELIVER = sql(
	"UPDATE deliveries SET state = 'pending', used = 0, due_at = $2 WHERE id = $1 AND state <> 'pending'",
);
const END_DEFERRAL = sql("UPDATE deliveries SET due_at = $4 WHERE endpoint = $1 AND receiver = $2 AND due_at = $3");

const RECEIVER = "SELECT unanswered, paused_until FROM receivers WHERE endpoint = $1 AND receiver = $2";
const FIND_RECEIVER = sql(`${RECEIVER} FOR UPDATE`, RECEIVER);
const PUT_RECEIVER = sql(`
  INSERT INTO receivers (endpoint, receiver, unanswered, paused_until) VALUES ($1, $2, $3, $4)
  ON CONFLICT (endpoint, receiver)
  DO UPDATE SET unanswered = excluded.unanswered, paused_until = excluded.paused_until`);
const REMOVE_RECEIVER = sql("DELETE FROM receivers WHERE endpoint = $1 AND receiver = $2");

interface Filter {
	endpoint?: string | undefined;
	job?: string | undefined;
	state?: DeliveryState | undefined;
}

const lists = new Map<string, Sql>();

/**
 * Lists deliveries below the number `$1`, highest first. The state is literal SQL, since a parameter would prevent the
 * partial index. SQLite has no statistics: `+` keeps it on the most selective index.
 */
function listBy({ endpoint, job, state }: Filter): Sql {
	const isRare = state !== undefined && state !== "delivered";
	const conditions: string[] = [];
	let parameters = 2;
	if (job !== undefined) conditions.push(`job = $${(parameters += 1)}`);
	if (endpoint !== undefined) conditions.push(`${job !== undefined || isRare ? "+" : ""}endpoint = $${parameters + 1}`);
	if (state !== undefined)
		conditions.push(
			job === undefined && isRare ? `state <> 'delivered' AND state = '${state}'` : `+state = '${state}'`,
		);
	const where = [...conditions, "number < $1"].join(" AND ");
	const text = `SELECT ${DELIVERIES.names} FROM deliveries WHERE ${where} ORDER BY number DESC LIMIT $2`;
	const found = lists.get(text) ?? sql(text.replaceAll("+", ""), text);
	lists.set(text, found);
	return found;
}

interface Attempt extends ReceiverAttempt {
	endpoint: string;
	receiver: string;
}

/** Returns the health of the receiver after the attempt. */
export function* attempted({ endpoint, receiver, ...attempt }: Attempt): Work<ReceiverHealth | undefined> {
	const [found] = (yield* rows(FIND_RECEIVER, endpoint, receiver)) as (number | null)[][];
	const before = found && {
		unanswered: Number(found[0]),
		pausedUntil: found[1] === null ? undefined : Number(found[1]),
	};
	const after = afterAttempt(before, attempt);
	if (after) yield* change(PUT_RECEIVER, endpoint, receiver, after.unanswered, after.pausedUntil ?? null);
	else if (before) yield* change(REMOVE_RECEIVER, endpoint, receiver);
	const until = before?.pausedUntil;
	if (until === undefined || after?.pausedUntil !== undefined) return after;
	// What was deferred to the end of the pause is due; the time between attempts stays.
	yield* change(END_DEFERRAL, endpoint, receiver, until, attempt.now);
	yield* signal("delivery");
	return after;
}

export const webhooks = {
	pending: read<"webhooks.pending">(function* ({ atMost }) {
		return (yield* rows(COUNT_PENDING, atMost)).map(([endpoint, count, dueAt]) => ({
			endpoint: String(endpoint),
			count: Number(count),
			oldestDueAt: Number(dueAt),
		}));
	}),

	redeliver: write<"webhooks.redeliver">(function* ({ id, now }) {
		if ((yield* change(REDELIVER, id, now)) === 0) return (yield* rows(FIND, id)).length > 0 ? "pending" : "missing";
		yield* signal("delivery");
		return "due";
	}),

	find: read<"webhooks.find">(function* ({ id }) {
		const [found] = yield* rows(FIND, id);
		return found && { ...withoutNumber(DELIVERIES.from(found)), bytes: Number(found.at(-1)) };
	}),

	list: read<"webhooks.list">(function* ({ cursor, limit, ...filter }) {
		const given = [filter.job, filter.endpoint].filter((value) => value !== undefined);
		const below = numberOf(cursor) ?? Number.MAX_SAFE_INTEGER;
		const found = (yield* rows(listBy(filter), below, limit + 1, ...given)).map(DELIVERIES.from);
		const page = found.slice(0, limit);
		const last = page.at(-1);
		return {
			deliveries: page.map(withoutNumber),
			next: last && found.length > limit ? cursorOf(last.number) : undefined,
		};
	}),
};
