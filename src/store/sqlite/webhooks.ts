/** Webhook delivery operations (D21). Each runs inside a batch of the database thread. */
import type { DeliveryState } from "../../core/delivery.ts";
import { afterAttempt, type ReceiverRow } from "../../core/receiver.ts";
import { recordTry, withoutNumber } from "../operations/steps.ts";
import { type DueDelivery, INLINE_BYTES } from "../contract/webhooks.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import type { Statement, Value } from "./database.ts";
import { DELIVERY_COLUMNS, deliveryFrom, RECEIVER_COLUMNS, receiverFrom, receiverValues } from "../table-rows.ts";
import type { DialectHandlers } from "../operations/table.ts";
import { BODY_BYTES } from "./rows/deliveries.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { LAST } from "./rows/row.ts";

export function openWebhooks({ db, deliveries, signal }: UnitOfWork): DialectHandlers<"webhooks"> {
	// The first delivery of the next endpoint: one search of the index for each endpoint.
	const nextEndpoint = db.prepare(
		`SELECT endpoint, due_at FROM deliveries WHERE due_at IS NOT NULL AND endpoint > ?
			ORDER BY endpoint, due_at LIMIT 1`,
	);
	const due = db.prepare(`
    SELECT ${DELIVERY_COLUMNS.split(", ")
			.map((column) => `deliveries.${column}`)
			.join(", ")},
      (SELECT ${BODY_BYTES} FROM delivery_bodies WHERE delivery_bodies.number = deliveries.number),
      paused_until, disabled_at
    FROM deliveries LEFT JOIN receivers USING (endpoint, receiver)
    WHERE deliveries.endpoint = ? AND due_at <= ? ORDER BY due_at, deliveries.number LIMIT ?`);
	const receiverOfDelivery = db.prepare("SELECT receiver, erase FROM deliveries WHERE number = ?");
	const columns = RECEIVER_COLUMNS.join(", ");
	const standing = db.prepare(`SELECT ${columns} FROM receivers WHERE endpoint = ? AND receiver = ?`);
	const setStanding = db.prepare(
		`INSERT OR REPLACE INTO receivers (${columns}) VALUES (${RECEIVER_COLUMNS.map(() => "?").join(", ")})`,
	);
	const dropStanding = db.prepare("DELETE FROM receivers WHERE endpoint = ? AND receiver = ?");
	const dueNow = db.prepare(
		"UPDATE deliveries SET due_at = ? WHERE endpoint = ? AND due_at > ? AND receiver = ? AND in_flight = 0",
	);
	const hold = db.prepare("UPDATE deliveries SET due_at = ?, in_flight = ? WHERE number = ?");
	const putOff = db.prepare("UPDATE deliveries SET due_at = ? WHERE endpoint = ? AND receiver = ? AND due_at = ?");
	const receivers = db.prepare(`SELECT ${columns} FROM receivers ORDER BY failing_since, endpoint, receiver LIMIT ?`);
	const receiversOf = db.prepare(
		`SELECT ${columns} FROM receivers WHERE endpoint = ? ORDER BY failing_since, receiver LIMIT ?`,
	);
	const countPending = db.prepare(
		"SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE endpoint = ? AND due_at IS NOT NULL LIMIT ?)",
	);
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

	/** Endpoints with pending deliveries, and when the first of each is due. */
	function* pendingEndpoints(): Generator<{ endpoint: string; dueAt: number }> {
		for (let last = "", found; (found = nextEndpoint.get(last)); last = String(found[0]))
			yield { endpoint: String(found[0]), dueAt: Number(found[1]) };
	}

	/** The pause is over: what was put off to its end is due; the time between attempts stays. */
	function endPause({ endpoint, receiver, pausedUntil }: ReceiverRow, now: number) {
		putOff.run(now, endpoint, receiver, pausedUntil ?? now);
		signal({ kind: "delivery" });
	}

	/** The receiver is to be called: its pending deliveries are due, but for those in flight. */
	function resume({ endpoint, receiver }: { endpoint: string; receiver: string }, now: number) {
		dropStanding.run(endpoint, receiver);
		dueNow.run(now, endpoint, now, receiver);
		signal({ kind: "delivery" });
	}

	return {
		claim({ limit, each, skip, holdMs, now }) {
			const ready = [...pendingEndpoints()].filter(({ endpoint }) => !skip.includes(endpoint));
			const turns = ready
				.filter(({ dueAt }) => dueAt <= now)
				.toSorted((one, other) => one.dueAt - other.dueAt)
				.slice(0, limit);
			const share = Math.max(1, Math.min(each, Math.floor(limit / turns.length)));
			const claimed: DueDelivery[] = [];
			for (const { endpoint } of turns)
				for (const values of due.all(endpoint, now, share)) {
					const [bytes, pausedUntil, disabledAt] = values.slice(-3) as (number | null)[];
					const row = deliveryFrom(values);
					const paused = disabledAt === null && (pausedUntil ?? 0) > now;
					const held = { ...row, dueAt: paused ? pausedUntil! : now + holdMs };
					hold.run(held.dueAt, paused ? 0 : 1, row.number);
					if (!paused)
						claimed.push({
							...withoutNumber(held),
							bytes: bytes ?? 0,
							body: (bytes ?? 0) > INLINE_BYTES ? undefined : deliveries.body(row.number),
							disabledAt: disabledAt ?? undefined,
						});
				}
			const next = [...pendingEndpoints()].filter(({ endpoint }) => !skip.includes(endpoint));
			return {
				due: claimed,
				nextDueAt: next.length === 0 ? undefined : Math.min(...next.map(({ dueAt }) => dueAt)),
			};
		},

		body({ id }) {
			const row = deliveries.find(id);
			return row && deliveries.body(row.number);
		},

		tried({ counts, ...q }) {
			const row = deliveries.find(q.id);
			if (row?.state !== "pending") return undefined;
			const after = recordTry(row, q);
			deliveries.update(after);
			const [receiver, erase] = receiverOfDelivery.get(row.number) as [string, number];
			if (erase === 1 && after.state !== "pending") deliveries.dropBody(row.number);
			if (!counts) return undefined;
			const { endpoint } = row;
			const found = standing.get(endpoint, receiver);
			const before = found && receiverFrom(found);
			const last = after.state === "failed";
			const now = afterAttempt(before, { ...counts, status: q.tried.status, last });
			if (now) setStanding.run(...receiverValues({ endpoint, receiver, ...now }));
			else if (before) dropStanding.run(endpoint, receiver);
			if (before?.pausedUntil !== undefined && now?.pausedUntil === undefined) endPause(before, counts.now);
			return now;
		},

		receivers: ({ endpoint, limit }) =>
			(endpoint === undefined ? receivers.all(limit) : receiversOf.all(endpoint, limit)).map(receiverFrom),

		enable({ endpoint, receiver, now }) {
			if (!standing.get(endpoint, receiver)) return false;
			resume({ endpoint, receiver }, now);
			return true;
		},

		pending: ({ atMost }) =>
			[...pendingEndpoints()].map(({ endpoint }) => ({
				endpoint,
				count: Number(countPending.get(endpoint, atMost)?.[0]),
			})),

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
			return row && { ...withoutNumber(row), bytes: deliveries.bytes(row.number) };
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
	if (endpoint !== undefined) conditions.push([job !== undefined || few ? "+endpoint = ?" : "endpoint = ?", endpoint]);
	if (state !== undefined)
		conditions.push([job === undefined && few ? "state <> 'delivered' AND state = ?" : "+state = ?", state]);
	return conditions;
}
