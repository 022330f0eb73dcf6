/** The items of a response's input (D58), as OpenAI lists them. */
import { type JsonBlocks, stringOf } from "../../../kernel/lib/json/json-text.ts";
import { elementsIn } from "../translation.ts";
import { atOnce, blocksOf, membersOf, partOf, withMembers } from "./members.ts";
import { AFTER } from "./routes.ts";

export interface Item {
	id: string;
	/** JSON text. */
	text: string;
}

export interface Page {
	items: Item[];
	hasMore: boolean;
}

export interface ItemQuery {
	/** Id of the last item of the page before. */
	after: string | undefined;
	limit: number;
	order: "asc" | "desc";
}

/** An item that was found, but not built yet. */
interface Found {
	id: string;
	element: JsonBlocks;
}

/** Elements between two turns of the event loop. */
const EACH = 64;

/**
 * `input`: JSON text of the request's member, in one block, if it has one; `response`: id. Undefined if there is no
 * item `after`. A text is a message of the user; values that are no objects are left out. Items of pages before are
 * searched for their ids only. Yields after some elements.
 */
export function* pageOf(
	input: Uint8Array | undefined,
	response: string,
	{ after, limit, order }: ItemQuery,
): Generator<void, Page | undefined> {
	/** At most one more than the page has: the first ones behind `after`, or the last ones before it. */
	const found: Found[] = [];
	let isKnown = after === undefined;
	let walked = 0;
	for (const each of foundIn(input, response)) {
		walked += 1;
		if (walked % EACH === 0) yield;
		if (!each) continue;
		const isAfter = each.id === after;
		if (order === "asc") {
			if (isKnown) found.push(each);
			else isKnown = isAfter;
			if (found.length > limit) break;
		} else {
			isKnown ||= isAfter;
			if (isAfter) break;
			found.push(each);
			if (found.length > limit + 1) found.shift();
		}
	}
	if (!isKnown) return undefined;
	const shown = (order === "asc" ? found : found.toReversed()).slice(0, limit);
	return { items: shown.map(itemIn), hasMore: found.length > limit };
}

/**
 * The objects of an input; undefined for other values. Each id occurs once, so that pages end: what repeats an id, or
 * has none that a query can name, gets one by its place.
 */
function* foundIn(input: Uint8Array | undefined, response: string): Generator<Found | undefined> {
	if (input === undefined) return;
	if (input[0] === QUOTE)
		return yield { id: ownId(response, 0), element: blocksOf(`{"role":"user","content":${stringOf([input])}}`) };
	if (input[0] !== LIST) return;
	const given = new Set<string>();
	let index = 0;
	for (const element of elementsIn([input])) {
		if (!element) continue;
		const own = ownId(response, index);
		index += 1;
		const id = idIn(element);
		if (id === NO_OBJECT) yield undefined;
		else {
			const isUsable = id !== undefined && AFTER.read(id) !== undefined && !given.has(id);
			if (isUsable) given.add(id);
			yield { id: isUsable ? id : own, element };
		}
	}
}

const [QUOTE, LIST, OBJECT, SPACE] = [0x22, 0x5b, 0x7b, 0x20];
const NO_OBJECT = Symbol("no object");

/** Undefined for an object without an id. */
function idIn(element: JsonBlocks): string | undefined | typeof NO_OBJECT {
	const [text = new Uint8Array()] = element;
	if (text.find((byte) => byte > SPACE) !== OBJECT) return NO_OBJECT;
	// Most items have no id. A name may be written with escapes.
	const bytes = Buffer.from(text.buffer, text.byteOffset, text.length);
	if (!bytes.includes('"id"') && !bytes.includes("\\")) return undefined;
	const { id } = atOnce(membersOf(element, ["id"] as const))!;
	return id?.kind === "string" ? (JSON.parse(partOf(element, id)) as string) : undefined;
}

function ownId(response: string, index: number): string {
	return `msg_${response.slice("resp_".length).replaceAll("-", "")}${String(index).padStart(4, "0")}`;
}

const NAMES = ["id", "type", "role", "content"] as const;

function itemIn({ id, element }: Found): Item {
	const members = atOnce(membersOf(element, NAMES))!;
	const { type, role, content } = members;
	const values: Record<string, string> = { id: JSON.stringify(id) };
	const isMessage = role?.kind === "string" && (type === undefined || partOf(element, type) === '"message"');
	if (isMessage) {
		values["type"] = '"message"';
		const kind = partOf(element, role) === '"assistant"' ? "output_text" : "input_text";
		if (content?.kind === "string") values["content"] = `[{"type":"${kind}","text":${partOf(element, content)}}]`;
	}
	return { id, text: stringOf(withMembers(element, members, values)).trim() };
}
