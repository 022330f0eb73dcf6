/** Webhook deliveries (D21). */
import type { DeliveryState } from "../../core/delivery.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { afterTry, withoutNumber } from "../operations/steps.ts";
import type { Signal } from "../contract/store.ts";
import type { DeliveryRow, WebhookStore } from "../contract/webhooks.ts";
import type { Database } from "./connection/database.ts";
import { DELIVERY_COLUMNS, deliveryFrom } from "./rows/deliveries.ts";
import { jsonTextOf } from "./rows/buffer-transfer.ts";
import { statement } from "./connection/statement.ts";
import type { Statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

/**
 * One statement, unlike SQLite: rows claimed by another server are skipped. The last columns are
 * the body and the order. Rows that do not fit are unlocked by the commit.
 */
const CLAIM = statement(`
  WITH due AS MATERIALIZED (
    SELECT number, due_at, octet_length(body) AS size FROM deliveries WHERE due_at <= $1
      ORDER BY due_at, number LIMIT $2 FOR UPDATE SKIP LOCKED
  ), sized AS (
    SELECT number AS claimed, due_at AS was_due, row_number() OVER longest AS place,
      sum(size) OVER longest AS total FROM due WINDOW longest AS (ORDER BY due_at, number)
  )
  UPDATE deliveries SET due_at = $4 FROM sized WHERE number = claimed AND (place = 1 OR total <= $3)
  RETURNING ${DELIVERY_COLUMNS}, body, place`);
const NEXT_DUE = statement("SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL");
const PENDING = statement(
	`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = $1 AND state = 'pending' FOR UPDATE`,
);
const TRIED = statement(
	"UPDATE deliveries SET tries = $2, used = $3, state = $4, due_at = $5 WHERE id = $1",
);
const REDELIVER = statement(
	"UPDATE deliveries SET state = 'pending', used = 0, due_at = $2 WHERE id = $1 AND state <> 'pending'",
);
const FIND = statement(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = $1`);
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
	async function find(id: string): Promise<DeliveryRow | undefined> {
		const [found] = isStorable(id) ? (await read.run(FIND, [id])).rows : [];
		return found && withoutNumber(deliveryFrom(found));
	}

	return {
		async claim({ limit, maxBytes, holdMs, now }) {
			const { rows, nextDueAt } = await write(async ({ run }) => {
				const claimed = await run(CLAIM, [now, limit, maxBytes, now + holdMs]);
				return {
					rows: claimed.rows,
					nextDueAt: (await run(NEXT_DUE)).rows[0]?.[0] as number | null | undefined,
				};
			});
			const due = rows
				.toSorted((one, other) => Number(one.at(-1)) - Number(other.at(-1)))
				.map((values) => ({
					...withoutNumber(deliveryFrom(values)),
					body: jsonTextOf(String(values.at(-2))),
				}));
			return { due, nextDueAt: nextDueAt ?? undefined };
		},

		async tried(q) {
			await write(async ({ run }) => {
				const [found] = (await run(PENDING, [q.id])).rows;
				if (!found) return;
				const { id, tries, used, state, dueAt } = afterTry(deliveryFrom(found), q);
				await run(TRIED, [id, JSON.stringify(tries), used, state, dueAt ?? null]);
			});
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
			const { rows } = await read.run(
				listBy({ endpoint: endpoint !== undefined, job: job !== undefined, state }),
				[below, limit + 1, ...given],
			);
			const found = rows.map(deliveryFrom);
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

const lists = new Map<string, Statement>();

/**
 * Lists deliveries below a number, highest first. The state is literal SQL, since a parameter would
 * prevent the partial index.
 */
function listBy(filter: {
	endpoint: boolean;
	job: boolean;
	state: DeliveryState | undefined;
}): Statement {
	const conditions = ["number < $1"];
	for (const column of ["endpoint", "job"] as const)
		if (filter[column]) conditions.push(`${column} = $${conditions.length + 2}`);
	if (filter.state !== undefined) conditions.push(`state = '${filter.state}'`);
	const where = conditions.join(" AND ");
	const found =
		lists.get(where) ??
		statement(
			`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${where} ORDER BY number DESC LIMIT $2`,
		);
	lists.set(where, found);
	return found;
}
