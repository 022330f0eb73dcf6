/** The events of a worker's stream, whose text may be cut anywhere (D58). */
import { failureInOutput } from "../failures.ts";
import type { OpenAIFailure } from "../error-form.ts";
import { onOneLine } from "../event-text.ts";
import { elementsOf } from "../translation.ts";
import { atOnce, blocksOf, membersOf, partOf } from "./members.ts";

/** What a worker has sent: an event, a whole response, or a failure in OpenAI's form. */
export type Sent =
	| { kind: "event"; type: string; data: string }
	| { kind: "response"; data: string }
	| { kind: "failure"; failure: OpenAIFailure };

export type EventReader = ReturnType<typeof eventReader>;

/**
 * `push` takes the output of a chunk, or an element of a result, as JSON text: a string is text of server-sent events,
 * another value is one of {@link Sent}, or a list of them. Anything else is left out, such as `[DONE]` and comments.
 */
export function eventReader() {
	/** Pieces of the unfinished line. */
	let line: string[] = [];
	let data: string[] = [];
	let size = 0;
	/** The last text ended with \r, whose \n may follow. */
	let isAfterReturn = false;

	function endLine(): Sent | undefined {
		const text = line.length === 1 ? line[0]! : line.join("");
		line = [];
		if (text === "") {
			const whole = data.join("\n");
			data = [];
			size = 0;
			return whole === "" ? undefined : sentIn(whole);
		}
		const [, value] = /^data(?:: ?|$)([^]*)$/.exec(text) ?? [];
		if (value !== undefined) data.push(value);
		return undefined;
	}

	function* texts(text: string): Generator<Sent> {
		let at = isAfterReturn && text.startsWith("\n") ? 1 : 0;
		if (text !== "") isAfterReturn = text.endsWith("\r");
		const end = /\r\n|\r|\n/g;
		end.lastIndex = at;
		for (let found = end.exec(text); found; found = end.exec(text)) {
			add(text.slice(at, found.index));
			at = end.lastIndex;
			const sent = endLine();
			if (sent) yield sent;
		}
		add(text.slice(at));
	}

	function add(piece: string): void {
		if (piece === "") return;
		line.push(piece);
		size += piece.length;
	}

	return {
		/** Characters that are held until their event is complete. */
		get size(): number {
			return size;
		},
		*push(output: string): Generator<Sent> {
			for (const element of elementsOf(output) ?? [output]) {
				if (element.startsWith('"')) yield* texts(JSON.parse(element) as string);
				else {
					const sent = sentIn(element);
					if (sent) yield sent;
				}
			}
		},
		/** The last event of a stream may have no blank line behind it. */
		*end(): Generator<Sent> {
			yield* texts("\n\n");
		},
	};
}

const NAMES = ["type", "object"] as const;
const IS_OBJECT = /^\s*\{/;
/** One line of `event:`. */
const TYPE = /^[\w.:-]{1,100}$/;

function sentIn(data: string): Sent | undefined {
	// Before it is scanned: a chunk may have half a million values that are none.
	if (!IS_OBJECT.test(data)) return undefined;
	const blocks = blocksOf(data);
	const members = atOnce(membersOf(blocks, NAMES));
	if (!members) return undefined;
	const text = (name: (typeof NAMES)[number]): string | undefined => {
		const member = members[name];
		return member?.kind === "string" ? (JSON.parse(partOf(blocks, member)) as string) : undefined;
	};
	// Such errors of vLLM have a `type` too.
	const failure = text("object") === "error" ? failureInOutput(data) : undefined;
	if (failure) return { kind: "failure", failure };
	const type = text("type");
	if (type !== undefined) return TYPE.test(type) ? { kind: "event", type, data: onOneLine(data) } : undefined;
	if (text("object") === "response") return { kind: "response", data: onOneLine(data) };
	const only = failureInOutput(data);
	return only && { kind: "failure", failure: only };
}
