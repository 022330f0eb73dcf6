/** Webhook deliveries (D21). */
import { type DueDelivery, INLINE_BYTES } from "../../contract/webhooks.ts";
import { recordTry } from "../../operations/steps.ts";
import type { DialectHandlers } from "../../operations/table.ts";
import { DELIVERIES, withoutNumber, attempted, PENDING_ENDPOINTS, SQLITE_BODY_BYTES } from "../../tables/webhooks.ts";
import { damageOf } from "../file/disk-errors.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import type { RunWork } from "../tables.ts";

export function openWebhooks(
	{ db, deliveries, payloads, records }: UnitOfWork,
	run: RunWork,
): DialectHandlers<"webhooks"> {
	const pendingEndpoints = db.prepare(`${PENDING_ENDPOINTS}
    SELECT endpoint, (SELECT min(due_at) FROM deliveries
      WHERE due_at IS NOT NULL AND deliveries.endpoint = pending.endpoint)
    FROM pending WHERE endpoint IS NOT NULL`);
	const due = db.prepare(`
    SELECT ${DELIVERIES.names
			.split(", ")
			.map((column) => `deliveries.${column}`)
			.join(", ")},
      (SELECT ${SQLITE_BODY_BYTES} FROM delivery_bodies WHERE delivery_bodies.number = deliveries.number),
      paused_until
    FROM deliveries LEFT JOIN receivers USING (endpoint, receiver)
    WHERE deliveries.endpoint = ? AND due_at <= ? ORDER BY due_at, deliveries.number LIMIT ?`);
	const receiverOfDelivery = db.prepare("SELECT receiver, erase FROM deliveries WHERE number = ?");
	const hold = db.prepare("UPDATE deliveries SET due_at = ? WHERE number = ?");
	const over = db.prepare(
		"SELECT number FROM deliveries WHERE due_at IS NULL AND created_at < ? ORDER BY created_at LIMIT ?",
	);

	/** Returns endpoints with pending deliveries that are not in `skip`. `dueAt`: time of the first delivery. */
	function pending(skip: readonly string[]): { endpoint: string; dueAt: number }[] {
		return pendingEndpoints
			.all()
			.map(([endpoint, dueAt]) => ({ endpoint: String(endpoint), dueAt: Number(dueAt) }))
			.filter(({ endpoint }) => !skip.includes(endpoint));
	}

	return {
		claim({ limit, each, skip, holdMs, now }) {
			const turns = pending(skip)
				.filter(({ dueAt }) => dueAt <= now)
				.toSorted((one, other) => one.dueAt - other.dueAt)
				.slice(0, limit);
			const share = Math.max(1, Math.min(each, Math.floor(limit / turns.length)));
			const claimed: DueDelivery[] = [];
			for (const { endpoint } of turns)
				for (const values of due.all(endpoint, now, share)) {
					const [bytes, pausedUntil] = values.slice(-2) as (number | null)[];
					const row = DELIVERIES.from(values);
					const paused = (pausedUntil ?? 0) > now;
					const held = { ...row, dueAt: paused ? pausedUntil! : now + holdMs };
					hold.run(held.dueAt, row.number);
					if (paused) continue;
					const found = records.find({ endpoint, id: row.job });
					claimed.push({
						...withoutNumber(held),
						bytes: bytes ?? 0,
						body: (bytes ?? 0) > INLINE_BYTES ? undefined : deliveries.body(row.number),
						inputBytes: found?.job.erased === false ? found.inputBytes : 0,
						operation: found?.job.operation,
						requestId: found?.job.requestId,
						trace: found?.job.trace,
					});
				}
			const next = pending(skip).map(({ dueAt }) => dueAt);
			return { due: claimed, nextDueAt: next.length === 0 ? undefined : Math.min(...next) };
		},

		body({ id }) {
			const row = deliveries.find(id);
			return row && deliveries.body(row.number);
		},

		input({ id }) {
			const row = deliveries.find(id);
			const found = row && records.find({ endpoint: row.endpoint, id: row.job });
			if (!found || found.job.erased) return undefined;
			try {
				return payloads.input(found);
			} catch (error) {
				damageOf(error);
				return undefined;
			}
		},

		tried({ counts, ...q }) {
			const row = deliveries.find(q.id);
			if (row?.state !== "pending") return undefined;
			const after = recordTry(row, q);
			deliveries.update(after);
			const [receiver, erase] = receiverOfDelivery.get(row.number) as [string, number];
			if (erase === 1 && after.state !== "pending") deliveries.dropBody(row.number);
			if (!counts) return undefined;
			const isAnswered = q.tried.status !== undefined;
			return run(attempted({ endpoint: row.endpoint, receiver, ...counts, isAnswered }));
		},

		expire({ before, limit }) {
			const old = over.all(before, limit);
			for (const [number] of old) deliveries.remove(Number(number));
			return old.length;
		},
	};
}
