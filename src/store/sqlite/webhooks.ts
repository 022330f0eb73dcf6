/** Webhook delivery operations (D21). Each runs inside a batch of the database thread. */
import type { DeliveryState } from "../../core/delivery.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import { afterTry, withoutNumber } from "../operations/steps.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";
import { bytesOf } from "./rows/blocks.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import type { Statement, Value } from "./database.ts";
import { DELIVERY_COLUMNS, deliveryFrom } from "./rows/deliveries.ts";
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { LAST } from "./rows/row.ts";

export function openWebhooks({ db, deliveries, signal }: UnitOfWork): DialectHandlers<"webhooks"> {
	const due = db.prepare(`
    SELECT ${DELIVERY_COLUMNS}, (
      SELECT ${bytesOf("delivery_bodies.body")} FROM delivery_bodies
      WHERE delivery_bodies.number = deliveries.number)
    FROM deliveries WHERE due_at <= ? ORDER BY due_at, number LIMIT ?`);
	const nextDue = db.prepare("SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL");
	const over = db.prepare(
		"SELECT number FROM deliveries WHERE due_at IS NULL AND created_at < ? ORDER BY created_at LIMIT ?",
	);

	const lists = new Map<string, Statement>();

	/** The statement that lists deliveries below a number, descending. */
	function listBy(conditions: readonly Condition[]): Statement {
		const where = conditions.map(([sql]) => `${sql} AND `).join("");
		let statement = lists.get(where);
		if (!statement) {
			statement = db.prepare(
				`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE ${where}number < ? ORDER BY number DESC LIMIT ?`,
			);
			lists.set(where, statement);
		}
		return statement;
	}

	return {
		claim({ limit, maxBytes, holdMs, now }) {
			const claimed: (DeliveryRow & { body: JsonText })[] = [];
			let room = maxBytes;
			for (const values of due.all(now, limit)) {
				// Bytes: never fewer than characters.
				const size = Number(values.at(-1));
				if (claimed.length > 0 && size > room) break;
				room -= size;
				const row = { ...deliveryFrom(values), dueAt: now + holdMs };
				deliveries.update(row);
				claimed.push({ ...withoutNumber(row), body: deliveries.body(row.number) });
			}
			return {
				due: claimed,
				nextDueAt: (nextDue.get()?.[0] as number | null | undefined) ?? undefined,
			};
		},

		tried(q) {
			const row = deliveries.find(q.id);
			if (row?.state === "pending") deliveries.update(afterTry(row, q));
		},

		redeliver({ id, now }) {
			const row = deliveries.find(id);
			if (!row) return "missing";
			if (row.state === "pending") return "pending";
			deliveries.update({ ...row, state: "pending", used: 0, dueAt: now });
			signal({ kind: "delivery" });
			return "due";
		},

		find({ id }) {
			const row = deliveries.find(id);
			return row && withoutNumber(row);
		},

		list({ cursor, limit, ...filter }) {
			const conditions = conditionsOf(filter);
			const found = listBy(conditions)
				.all(...conditions.map(([, value]) => value), numberOf(cursor) ?? LAST, limit + 1)
				.map(deliveryFrom);
			const page = found.slice(0, limit);
			const last = page.at(-1);
			return {
				deliveries: page.map(withoutNumber),
				next: last && found.length > limit ? cursorOf(last.number) : undefined,
			};
		},

		expire({ before, limit }) {
			const old = over.all(before, limit);
			for (const [number] of old) deliveries.remove(Number(number));
			return old.length;
		},
	};
}

/** A list condition and its parameter. */
type Condition = [sql: string, value: Value];

/** The conditions of a filter; `+` keeps a statement on the most selective index. */
function conditionsOf({
	endpoint,
	job,
	state,
}: {
	endpoint?: string | undefined;
	job?: string | undefined;
	state?: DeliveryState | undefined;
}): Condition[] {
	const conditions: Condition[] = [];
	const few = state !== undefined && state !== "delivered";
	if (job !== undefined) conditions.push(["job = ?", job]);
	if (endpoint !== undefined)
		conditions.push([job !== undefined || few ? "+endpoint = ?" : "endpoint = ?", endpoint]);
	if (state !== undefined)
		conditions.push([
			job === undefined && few ? "state <> 'delivered' AND state = ?" : "+state = ?",
			state,
		]);
	return conditions;
}
