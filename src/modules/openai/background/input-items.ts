/** The items of a response's input (D58), as OpenAI lists them. */
import { stringOf } from "../../../kernel/lib/json/json-text.ts";
import { elementsOf } from "../translation.ts";
import { atOnce, blocksOf, membersOf, partOf, withMembers } from "./members.ts";

export interface Item {
	id: string;
	/** JSON text. */
	text: string;
}

export interface ItemQuery {
	/** Id of the last item of the page before. */
	after: string | undefined;
	limit: number;
	order: "asc" | "desc";
}

/**
 * `input`: JSON text of the request's member, if it has one; `response`: id. Items without an id get one by their
 * place. A text is a message of the user; values that are no objects are left out.
 */
export function itemsOf(input: string | undefined, response: string): Item[] {
	if (input === undefined) return [];
	if (input.startsWith('"')) return itemIn(`{"role":"user","content":${input}}`, ownId(response, 0));
	return (elementsOf(input) ?? []).flatMap((text, index) => itemIn(text, ownId(response, index)));
}

function ownId(response: string, index: number): string {
	return `msg_${response.slice("resp_".length).replaceAll("-", "")}${String(index).padStart(4, "0")}`;
}

const NAMES = ["id", "type", "role", "content"] as const;

function itemIn(text: string, otherwise: string): Item[] {
	const blocks = blocksOf(text);
	const members = atOnce(membersOf(blocks, NAMES));
	if (!members) return [];
	const { id: named, type, role, content } = members;
	const id = named?.kind === "string" ? (JSON.parse(partOf(blocks, named)) as string) : otherwise;
	const values: Record<string, string> = { id: JSON.stringify(id) };
	const isMessage = role?.kind === "string" && (type === undefined || partOf(blocks, type) === '"message"');
	if (isMessage) {
		values["type"] = '"message"';
		const kind = partOf(blocks, role) === '"assistant"' ? "output_text" : "input_text";
		if (content?.kind === "string") values["content"] = `[{"type":"${kind}","text":${partOf(blocks, content)}}]`;
	}
	return [{ id, text: stringOf(withMembers(blocks, members, values)) }];
}

/** Undefined if there is no item `after`. */
export function pageOf(
	items: readonly Item[],
	{ after, limit, order }: ItemQuery,
): { page: Item[]; hasMore: boolean } | undefined {
	const all = order === "asc" ? items : items.toReversed();
	const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
	if (after !== undefined && start === 0) return undefined;
	return { page: all.slice(start, start + limit), hasMore: all.length > start + limit };
}
