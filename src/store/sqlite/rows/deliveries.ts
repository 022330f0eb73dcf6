/** Webhook deliveries, with bodies in their own table (D21). */
import type { NewDelivery } from "../../../core/delivery.ts";
import type { JsonText } from "../../../core/json/json-text.ts";
import type { NumberedDelivery } from "../../operations/steps.ts";
import { DELIVERY_COLUMNS, deliveryFrom } from "../../table-rows.ts";
import type { Blocks } from "./blocks.ts";
import type { Database, Value } from "../database.ts";

export type Deliveries = ReturnType<typeof openDeliveries>;

/** Large bodies are in `blocks`. */
export function openDeliveries({ db, blocks }: { db: Database; blocks: Blocks }) {
	const insert = db.prepare(
		`INSERT INTO deliveries (id, endpoint, job, url, receiver, state, created_at, due_at)
			VALUES (?, ?, ?, ?, ?, 'pending', ?, ?) RETURNING number`,
	);
	const insertBody = db.prepare("INSERT INTO delivery_bodies (number, body) VALUES (?, ?)");
	const selectBody = db.prepare("SELECT body FROM delivery_bodies WHERE number = ?");
	const select = db.prepare(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`);
	const update = db.prepare(
		"UPDATE deliveries SET state = ?, tries = ?, used = ?, due_at = ?, in_flight = 0 WHERE number = ?",
	);
	const remove = db.prepare("DELETE FROM deliveries WHERE number = ?");
	const largeBody = db.prepare(
		"SELECT body FROM delivery_bodies WHERE number = ? AND typeof(body) <> 'text'",
	);
	const removeBody = db.prepare("DELETE FROM delivery_bodies WHERE number = ?");

	function dropBody(number: number): void {
		if (blocks.any) blocks.drop(largeBody.get(number)?.[0]);
		removeBody.run(number);
	}

	const ofJob = db.prepare("SELECT number, state FROM deliveries WHERE job = ? AND +endpoint = ?");
	const markErased = db.prepare("UPDATE deliveries SET erase = 1 WHERE number = ?");

	return {
		/** Drops the bodies of a job's deliveries once they are finished. */
		erase({ endpoint, id }: { endpoint: string; id: string }): void {
			for (const [number, state] of ofJob.all(id, endpoint)) {
				markErased.run(number!);
				if (state !== "pending") dropBody(Number(number));
			}
		},

		/** Adds a delivery that is due at once. */
		add({ id, endpoint, job, url, receiver, body, createdAt }: NewDelivery): void {
			const number = Number(
				insert.get(id, endpoint, job, url, receiver, createdAt, createdAt)?.[0],
			);
			insertBody.run(number, blocks.write(body));
		},

		find(id: string): NumberedDelivery | undefined {
			const found = select.get(id);
			return found && deliveryFrom(found);
		},

		/** Undefined if it was dropped. */
		body(number: number): JsonText | undefined {
			const found = selectBody.get(number);
			return found && blocks.read(found[0] as Value);
		},

		/** Writes the members that change. */
		update({ number, state, tries, used, dueAt }: NumberedDelivery): void {
			update.run(state, JSON.stringify(tries), used, dueAt ?? null, number);
		},

		dropBody,

		remove(number: number): void {
			dropBody(number);
			remove.run(number);
		},
	};
}
