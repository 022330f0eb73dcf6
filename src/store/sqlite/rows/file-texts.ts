/**
 * Texts in payload files: the column of such a text holds its number here. The same text may belong
 * to a result and to the body of a webhook.
 */
import type { JsonText } from "../../../core/json/json-text.ts";
import type { Database, Value } from "../database.ts";
import { placeOf, textInFile } from "../payload-files/file-block.ts";

export type FileTexts = ReturnType<typeof openFileTexts>;

/** `onRollback`: what restores memory if the transaction is undone. */
export function openFileTexts({ db, onRollback }: { db: Database; onRollback: (restore: () => void) => void }) {
	const add = db.prepare(
		`INSERT INTO payloads (segment, at, length, sum, refs) VALUES (?, ?, ?, ?, 1)
			ON CONFLICT (segment, at) DO UPDATE SET refs = refs + 1 RETURNING number, refs`,
	);
	const select = db.prepare("SELECT segment, at, length, sum FROM payloads WHERE number = ?");
	const selectSize = db.prepare("SELECT length FROM payloads WHERE number = ?");
	const unref = db.prepare("UPDATE payloads SET refs = refs - 1 WHERE number = ? RETURNING refs, segment, length");
	const remove = db.prepare("DELETE FROM payloads WHERE number = ?");
	/** Bytes of each file that rows refer to. */
	const referenced = new Map<number, number>(
		db.prepare("SELECT segment, sum(length) FROM payloads GROUP BY segment").all() as [number, number][],
	);
	/** Files whose bytes may have changed since the last reply. */
	let changed = new Set<number>();
	/** R8. */
	let any = referenced.size > 0;

	function count(segment: number, bytes: number): void {
		const before = referenced.get(segment) ?? 0;
		onRollback(() => referenced.set(segment, before));
		if (before + bytes === 0) referenced.delete(segment);
		else referenced.set(segment, before + bytes);
		changed.add(segment);
	}

	return {
		/** Whether any text may be in a file (R8). */
		get any(): boolean {
			return any;
		},

		/** The column value of a text: a string itself, a text in a file by its number. */
		write(text: JsonText): Value {
			if (typeof text === "string") return text;
			const place = placeOf(text);
			if (!place) throw new Error("A text of blocks is not in a payload file.");
			const { segment, at, length, sum } = place;
			const [number, refs] = add.get(segment, at, length, sum) as [number, number];
			if (refs === 1) count(segment, length);
			any = true;
			return number;
		},

		/** The text of a column value. */
		read(value: Value): JsonText {
			if (typeof value !== "number") return value as string;
			const [segment, at, length, sum] = select.get(value) as [number, number, number, number];
			return textInFile({ segment, at, length, sum });
		},

		/** Characters or bytes. */
		size: (value: Value): number =>
			typeof value === "number" ? Number(selectSize.get(value)?.[0]) : (value as string).length,

		/** A column does not have this value any more. */
		drop(value: Value | undefined): void {
			if (typeof value !== "number") return;
			const [refs, segment, length] = unref.get(value) as [number, number, number];
			if (refs > 0) return;
			remove.run(value);
			count(segment, -length);
		},

		/** Bytes of the files that changed since the last call, after a commit. */
		takeChanges(): [segment: number, bytes: number][] {
			if (changed.size === 0) return [];
			const taken = [...changed].map((segment): [number, number] => [segment, referenced.get(segment) ?? 0]);
			changed = new Set();
			return taken;
		},

		/** Bytes of every file that rows refer to. */
		all: (): [segment: number, bytes: number][] => [...referenced],
	};
}
