/** Changes members of a JSON object in its text, so that everything else stays byte for byte (D5). */
import { type JsonMember, JsonScanner } from "../../../kernel/lib/json/json-scan.ts";
import { asOne, cut, type JsonText, piecesOf, sizeOf, stringOf } from "../../../kernel/lib/json/json-text.ts";

type Blocks = readonly Uint8Array[];

export function blocksOf(text: JsonText): Blocks {
	return typeof text === "string" ? [new TextEncoder().encode(text)] : text;
}

/** Copies blocks into one. */
export function oneBlock(blocks: Blocks): Uint8Array {
	const whole = new Uint8Array(sizeOf(blocks));
	let at = 0;
	for (const block of blocks) {
		whole.set(block, at);
		at += block.length;
	}
	return whole;
}

export type Members<Name extends string> = Readonly<Partial<Record<Name, JsonMember>>>;

/** Finds members of an object. Undefined for other values. Yields after each block. */
export function* membersOf<Name extends string>(
	blocks: Blocks,
	names: readonly Name[],
): Generator<void, Members<Name> | undefined> {
	const scanner = new JsonScanner({ members: names });
	for (const block of blocks) {
		scanner.push(block);
		yield;
	}
	const scan = scanner.finish();
	return scan.ok && scan.kind === "object" ? (scan.members as Members<Name>) : undefined;
}

/** Runs such a generator at once: for small texts. */
export function atOnce<T>(steps: Generator<unknown, T>): T {
	let step = steps.next();
	while (!step.done) step = steps.next();
	return step.value;
}

/** Returns a part of the text as it is. */
export function partOf(blocks: Blocks, { start, end }: Pick<JsonMember, "start" | "end">): string {
	return stringOf(cut(blocks, start, end));
}

/** The bytes from `start` to `end`, and the JSON text that replaces them. */
export interface Edit {
	start: number;
	end: number;
	text: JsonText;
}

/** Applies edits that do not overlap. */
export function edited(blocks: Blocks, edits: readonly Edit[]): JsonText {
	const parts: JsonText[] = [];
	let at = 0;
	for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
		parts.push(cut(blocks, at, start), text);
		at = end;
	}
	return asOne(piecesOf(...parts, cut(blocks, at, sizeOf(blocks))));
}

/** The edits that set members of an object to JSON texts; those that it does not have become its first ones. */
export function changesOf(blocks: Blocks, members: Members<string>, values: Readonly<Record<string, string>>): Edit[] {
	const added: string[] = [];
	const edits: Edit[] = [];
	for (const [name, text] of Object.entries(values)) {
		const { start, end } = members[name] ?? {};
		if (start === undefined || end === undefined) added.push(`${JSON.stringify(name)}:${text}`);
		else edits.push({ start, end, text });
	}
	if (added.length > 0) {
		const open = byteFrom(blocks, 0, 1).at + 1;
		const isEmpty = byteFrom(blocks, open, 1).byte === OBJECT_END;
		edits.push({ start: open, end: open, text: added.join(",") + (isEmpty ? "" : ",") });
	}
	return edits;
}

export function withMembers(
	blocks: Blocks,
	members: Members<string>,
	values: Readonly<Record<string, string>>,
): JsonText {
	return edited(blocks, changesOf(blocks, members, values));
}

/** The edit that removes a member with its name and one comma. `value`: where its value is. */
export function removal(blocks: Blocks, value: Pick<JsonMember, "start" | "end">): Edit {
	const colon = byteFrom(blocks, value.start - 1, -1).at;
	const close = byteFrom(blocks, colon - 1, -1).at;
	// A name that is known has no quote within.
	const name = cut(blocks, Math.max(0, close - MAX_NAME), close).flatMap((block) => [...block]);
	const start = close - name.length + name.lastIndexOf(QUOTE);
	const after = byteFrom(blocks, value.end, 1);
	if (after.byte === COMMA) return { start, end: after.at + 1, text: "" };
	const before = byteFrom(blocks, start - 1, -1);
	return { start: before.byte === COMMA ? before.at : start, end: value.end, text: "" };
}

/** Bytes of a name that is removed, at most; each character may be written as an escape of 6 bytes. */
const MAX_NAME = 200;

const [QUOTE, COMMA, OBJECT_END, SPACE] = [0x22, 0x2c, 0x7d, 0x20];

/** The first byte that is no white space. One pass: a request may have megabytes of it. */
function byteFrom(blocks: Blocks, from: number, step: 1 | -1): { at: number; byte: number | undefined } {
	let index = 0;
	let base = 0;
	while (index < blocks.length && from >= base + blocks[index]!.length) base += blocks[index++]!.length;
	for (let at = from; index >= 0 && index < blocks.length; ) {
		const block = blocks[index]!;
		for (; at >= base && at < base + block.length; at += step) {
			const byte = block[at - base]!;
			if (byte > SPACE) return { at, byte };
		}
		if (step > 0) {
			base += block.length;
			index += 1;
		} else {
			index -= 1;
			base -= blocks[index]?.length ?? 0;
		}
	}
	return { at: step > 0 ? base : -1, byte: undefined };
}
