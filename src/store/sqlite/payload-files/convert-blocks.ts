/**
 * Moves large texts of an earlier version, which were rows of blocks, to payload files. What a crash
 * interrupts is done at the next start.
 */
import { closeSync, fsyncSync, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { flushFile, makeFolder, OWNER_FILE } from "../../../durable-file.ts";
import type { Database, Value } from "../database.ts";
import { inTransaction } from "../schema.ts";
import { payloadFolder } from "./payload-files.ts";

/** Texts of one file and one transaction, bytes. */
const STEP_BYTES = 64_000_000;

/** A text's bytes from this block on, and the block. */
type Block = [number: number, rest: number, body: Uint8Array];

/** Whether {@link convertBlocks} has something to do. */
export function hasBlocks(db: Database): boolean {
	return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'blocks'").get() !== undefined;
}

export function convertBlocks(db: Database): void {
	if (!hasBlocks(db)) return;
	inTransaction(db, () => {
		for (const [first] of db.prepare("SELECT number FROM dropped_blocks").all()) removeText(db, Number(first));
		db.exec(`DELETE FROM dropped_blocks;
			UPDATE delivery_bodies SET payload = body, body = '', tail = '' WHERE typeof(body) <> 'text'`);
	});
	const some = db.prepare("SELECT 1 FROM blocks LIMIT 1");
	while (some.get()) convertSome(db);
	inTransaction(db, () => db.exec("DROP TABLE blocks; DROP TABLE dropped_blocks"));
}

function removeText(db: Database, first: number): void {
	const remove = db.prepare("DELETE FROM blocks WHERE number = ? RETURNING rest, octet_length(body)");
	for (let number = first; ; number += 1) {
		const [rest, size] = remove.get(number) ?? [0, 0];
		if (rest === size) return;
	}
}

/** Moves the first texts to a new file. A text keeps its number, which columns refer to. */
function convertSome(db: Database): void {
	const insert = db.prepare("INSERT INTO payloads VALUES (?, ?, ?, ?, ?, 1)");
	const folder = payloadFolder(db.path);
	makeFolder(folder);
	const segment = Math.max(0, ...readdirSync(folder).map(Number).filter(Number.isFinite)) + 1;
	const path = join(folder, String(segment));
	const file = openSync(path, "wx", OWNER_FILE);
	try {
		inTransaction(db, () => {
			let at = 0;
			let text: { first: number; length: number; sum: number } | undefined;
			let last = 0;
			for (const row of blocksOf(db)) {
				const [number, rest, body] = row;
				text ??= { first: number, length: rest, sum: 0 };
				for (let done = 0; done < body.length; ) done += writeSync(file, body, done);
				text.sum = crc32(body, text.sum);
				if (rest > body.length) continue;
				insert.run(text.first, segment, at, text.length, text.sum);
				at += text.length;
				text = undefined;
				last = number;
				if (at >= STEP_BYTES) break;
			}
			fsyncSync(file);
			flushFile(path);
			db.prepare("DELETE FROM blocks WHERE number <= ?").run(last);
		});
	} finally {
		closeSync(file);
	}
}

/** All blocks in order. */
function* blocksOf(db: Database): Generator<Block> {
	const next = db.prepare("SELECT number, rest, body FROM blocks WHERE number > ? ORDER BY number LIMIT 1");
	for (let last = 0, row: Value[] | undefined; (row = next.get(last)); last = Number(row[0])) yield row as Block;
}
