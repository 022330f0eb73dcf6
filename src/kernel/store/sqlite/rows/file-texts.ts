/**
 * The column of a text in a payload file holds its number here. The same text may belong to a result and to the body of
 * a webhook.
 */
import type { JsonText } from "../../../lib/json/json-text.ts";
import type { Database, Value } from "../file/database.ts";
import { placeOf, textInFile } from "../payload-files/file-block.ts";

export type FileTexts = ReturnType<typeof openFileTexts>;

/** Opens the texts in payload files. `onRollback` receives functions that restore the memory. */
export function openFileTexts(db: Database, onRollback: (restore: () => void) => void) {
	const add = db.prepare(
		`INSERT INTO payloads (segment, at, length, sum, refs) VALUES (?, ?, ?, ?, 1)
			ON CONFLICT (segment, at) DO UPDATE SET refs = refs + 1 RETURNING number, refs`,
	);
	const select = db.prepare("SELECT segment, at, length, sum FROM payloads WHERE number = ?");
	const selectSize = db.prepare("SELECT length FROM payloads WHERE number = ?");
	const unref = db.prepare("UPDATE payloads SET refs = refs - 1 WHERE number = ? RETURNING refs, segment, length");
	const remove = db.prepare("DELETE FROM payloads WHERE number = ?");
	const referenced = new Map<number, number>(
		db.prepare("SELECT segment, sum(length) FROM payloads GROUP BY segment").all() as [number, number][],
	);
	let changed = new Set<number>();
	/** Whether any row refers to a payload file (R8). */
	let any = referenced.size > 0;

	function count(segment: number, bytes: number): void {
		const before = referenced.get(segment) ?? 0;
		onRollback(() => referenced.set(segment, before));
		if (before + bytes === 0) referenced.delete(segment);
		else referenced.set(segment, before + bytes);
		changed.add(segment);
	}

	return {
		get any(): boolean {
			return any;
		},

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

		read(value: Value): JsonText {
			if (typeof value !== "number") return value as string;
			const [segment, at, length, sum] = select.get(value) as [number, number, number, number];
			return textInFile({ segment, at, length, sum });
		},

		file: (value: number): number => Number(select.get(value)?.[0]),

		/** Returns the size of a text, in characters or bytes. */
		size: (value: Value): number =>
			typeof value === "number" ? Number(selectSize.get(value)?.[0]) : (value as string).length,

		drop(value: Value | undefined): void {
			if (typeof value !== "number") return;
			const [refs, segment, length] = unref.get(value) as [number, number, number];
			if (refs > 0) return;
			remove.run(value);
			count(segment, -length);
		},

		/** Returns the referenced bytes of files that changed since the last call. Call after a commit. */
		takeChanges(): [segment: number, bytes: number][] {
			if (changed.size === 0) return [];
			const taken = [...changed].map((segment): [number, number] => [segment, referenced.get(segment) ?? 0]);
			changed = new Set();
			return taken;
		},

		all: (): [segment: number, bytes: number][] => [...referenced],
	};
}
