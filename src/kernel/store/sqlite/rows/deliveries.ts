/** Webhook deliveries; bodies are in a separate table (D21). */
import type { NewDelivery } from "../../../core/webhooks.ts";
import { asOne, type JsonText, stringOf } from "../../../lib/json/json-text.ts";
import { DELIVERIES, type NumberedDelivery } from "../../tables/webhooks.ts";
import type { Database, Value } from "../file/database.ts";
import { type FileBlock, isInFile, textInFile } from "../payload-files/file-block.ts";
import type { FileTexts } from "./file-texts.ts";

function split(body: JsonText): { head: string; payload: FileBlock | undefined; tail: string } {
	if (typeof body === "string") return { head: body, payload: undefined, tail: "" };
	const blocks = body as readonly (Uint8Array | FileBlock)[];
	const at = blocks.findIndex(isInFile);
	if (at < 0) return { head: stringOf(body), payload: undefined, tail: "" };
	return {
		head: stringOf(body.slice(0, at)),
		payload: blocks[at] as FileBlock,
		tail: stringOf(body.slice(at + 1)),
	};
}

/** Opens the deliveries. An output in a payload file is not written again for a body. */
export function openDeliveries(db: Database, texts: FileTexts) {
	const insert = db.prepare(
		`INSERT INTO deliveries (id, endpoint, job, url, receiver, state, created_at, due_at)
			VALUES (?, ?, ?, ?, ?, 'pending', ?, ?) RETURNING number`,
	);
	const insertBody = db.prepare("INSERT INTO delivery_bodies (number, body, payload, tail) VALUES (?, ?, ?, ?)");
	const selectBody = db.prepare("SELECT body, payload, tail FROM delivery_bodies WHERE number = ?");
	const select = db.prepare(`SELECT ${DELIVERIES.names} FROM deliveries WHERE id = ?`);
	const update = db.prepare("UPDATE deliveries SET state = ?, tries = ?, used = ?, due_at = ? WHERE number = ?");
	const remove = db.prepare("DELETE FROM deliveries WHERE number = ?");
	const payloadOf = db.prepare("SELECT payload FROM delivery_bodies WHERE number = ?");
	const removeBody = db.prepare("DELETE FROM delivery_bodies WHERE number = ?");

	function dropBody(number: number): void {
		if (texts.any) texts.drop(payloadOf.get(number)?.[0]);
		removeBody.run(number);
	}

	const ofJob = db.prepare("SELECT number, state FROM deliveries WHERE job = ? AND +endpoint = ?");
	const markErased = db.prepare("UPDATE deliveries SET erase = 1 WHERE number = ?");

	return {
		erase({ endpoint, id }: { endpoint: string; id: string }): void {
			for (const [number, state] of ofJob.all(id, endpoint)) {
				markErased.run(number!);
				if (state !== "pending") dropBody(Number(number));
			}
		},

		add({ id, endpoint, job, url, receiver, body, createdAt }: NewDelivery): void {
			const number = Number(insert.get(id, endpoint, job, url, receiver, createdAt, createdAt)?.[0]);
			const { head, payload, tail } = split(body);
			const file = payload ? texts.write(textInFile(payload)) : null;
			insertBody.run(number, head, file, payload ? tail : null);
		},

		find(id: string): NumberedDelivery | undefined {
			const found = select.get(id);
			return found && DELIVERIES.from(found);
		},

		body(number: number): JsonText | undefined {
			const found = selectBody.get(number);
			if (!found) return undefined;
			const [head, payload, tail] = found as [string, Value, string];
			return payload === null ? head : asOne([head, texts.read(payload), tail].flat());
		},

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
