/**
 * Large texts as rows of blocks, so that no statement binds or reads more than one block. The
 * text's column holds the number of its first block; the others have the next numbers. Dropped
 * texts are removed later in steps: a page is read for every few kilobytes of them.
 */
import { sizeOf } from "../../../core/json/json-text.ts";
import type { JsonText } from "../../../core/json/json-text.ts";
import type { Database, Value } from "../database.ts";
import type { BufferTransfer } from "../thread/buffer-transfer.ts";

/** Bytes of dropped texts removed in one step. A text is always removed whole. */
const REMOVED_BYTES = 32_000_000;

export type Blocks = ReturnType<typeof openBlocks>;

/** `large` gets the blocks' buffers. */
export function openBlocks({ db, large }: { db: Database; large: BufferTransfer }) {
	const insert = db.prepare("INSERT INTO blocks (number, rest, body) VALUES (?, ?, ?)");
	const select = db.prepare("SELECT rest, body FROM blocks WHERE number = ?");
	const selectSize = db.prepare("SELECT rest FROM blocks WHERE number = ?");
	const drop = db.prepare("INSERT INTO dropped_blocks (number) VALUES (?)");
	const nextDropped = db.prepare("SELECT number FROM dropped_blocks LIMIT 1");
	const forget = db.prepare("DELETE FROM dropped_blocks WHERE number = ?");
	const remove = db.prepare(
		"DELETE FROM blocks WHERE number = ? RETURNING rest, octet_length(body)",
	);
	// R8: a rollback leaves a gap.
	let last = Number(db.prepare("SELECT max(number) FROM blocks").get()?.[0]);

	/** Removes the text that begins with block `first` and returns its size. */
	function removeText(first: number): number {
		let removed = 0;
		for (let number = first; ; number += 1) {
			const [rest, size] = (remove.get(number) ?? [0, 0]) as [number, number];
			removed += size;
			if (rest === size) return removed;
		}
	}

	return {
		/** Whether any text may be in blocks (R8). */
		get any(): boolean {
			return last > 0;
		},

		/** Writes a text and returns its column value: a string is stored as it is. */
		write(text: JsonText): Value {
			if (typeof text === "string") return text;
			let rest = sizeOf(text);
			if (rest === 0) return "";
			const first = last + 1;
			for (const block of text) {
				if (block.length === 0) continue;
				large.written(block);
				last += 1;
				insert.run(last, rest, block);
				rest -= block.length;
			}
			return first;
		},

		/** The text of a column value. */
		read(value: Value): JsonText {
			if (typeof value !== "number") return value as string;
			const text: Uint8Array[] = [];
			for (let number = value; ; number += 1) {
				const [rest, block] = select.get(number) as [number, Uint8Array];
				large.read(block);
				text.push(block);
				if (rest === block.length) return text;
			}
		},

		/** Marks the blocks of a text already in memory for transfer with the answer. */
		given(text: JsonText): JsonText {
			if (typeof text !== "string") for (const block of text) large.read(block);
			return text;
		},

		/** Characters or bytes, without reading the text. */
		size: (value: Value): number =>
			typeof value === "number" ? Number(selectSize.get(value)?.[0]) : (value as string).length,

		/** Marks the text of a replaced column value for removal. */
		drop(value: Value | undefined): void {
			if (typeof value === "number") drop.run(value);
		},

		/** Removes some dropped texts. True when more may be left. */
		removeDropped(): boolean {
			if (last === 0) return false;
			for (let removed = 0; ; ) {
				const first = nextDropped.get()?.[0] as number | undefined;
				if (first === undefined) return false;
				if (removed >= REMOVED_BYTES) return true;
				removed += removeText(first);
				forget.run(first);
			}
		},
	};
}

/** SQL for the bytes of a text in `column`. */
export function bytesOf(column: string): string {
	return `CASE typeof(${column}) WHEN 'text' THEN octet_length(${column})
		ELSE (SELECT rest FROM blocks WHERE blocks.number = ${column}) END`;
}
