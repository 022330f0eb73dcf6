/**
 * Chunks that are pieces of one text: plain strings, or what OpenAI's API streams, as objects or as
 * the bytes of its events, cut anywhere.
 */

/** `delta` in a stream, `message` in a whole answer. */
interface Choice {
	text?: unknown;
	delta?: { content?: unknown };
	message?: { content?: unknown };
}

interface Piece {
	choices?: readonly Choice[];
}

/** The text so far; undefined where the chunks are something else. */
export function textIn(chunks: readonly unknown[]): string | undefined {
	if (chunks.length === 0) return undefined;
	if (chunks.every((chunk) => typeof chunk === "string")) {
		const whole = chunks.join("");
		return whole.startsWith("data:") ? (textOfEvents(whole) ?? whole) : whole;
	}
	for (const read of [textOfPiece, textOfToken]) {
		const texts = chunks.map(read);
		if (texts.every((text) => text !== undefined)) return texts.join("");
	}
	return undefined;
}

/** Members in which workers stream a text, and what else a chunk of it may have. */
const TOKEN_MEMBERS = ["token", "text", "content", "delta", "chunk", "piece", "response", "generated_text"];
const BESIDE_TOKEN = ["index", "id", "done", "finished", "finish_reason", "usage"];

/** The text of `{"token": "hel"}`; that of a last chunk, which only says that it is over, is empty. */
function textOfToken(chunk: unknown, index: number, all: readonly unknown[]): string | undefined {
	if (typeof chunk !== "object" || chunk === null || Array.isArray(chunk)) return undefined;
	const names = Object.keys(chunk).filter((name) => !BESIDE_TOKEN.includes(name));
	if (names.length === 0) return index > 0 && index === all.length - 1 ? "" : undefined;
	const text = (chunk as Record<string, unknown>)[names[0]!];
	return names.length === 1 && TOKEN_MEMBERS.includes(names[0]!) && typeof text === "string" ? text : undefined;
}

/**
 * Text of `data: {...}` lines; the last one may not be whole yet. Undefined where one is no such
 * piece.
 */
function textOfEvents(events: string): string | undefined {
	const lines = events.slice(0, events.lastIndexOf("\n") + 1).split(/\r?\n/);
	const pieces = lines.flatMap((line) => {
		const data = line.slice("data:".length).trim();
		return !line.startsWith("data:") || data === "[DONE]" ? [] : [pieceOf(data)];
	});
	return pieces.every((piece) => piece !== undefined) ? pieces.join("") : undefined;
}

function pieceOf(data: string): string | undefined {
	try {
		return textOfPiece(JSON.parse(data));
	} catch {
		return undefined;
	}
}

/** Returns the text of the first choice; the last chunk, which holds counts, has none. */
function textOfPiece(chunk: unknown): string | undefined {
	if (typeof chunk !== "object" || chunk === null) return undefined;
	const { choices } = chunk as Piece;
	if (!Array.isArray(choices)) return undefined;
	const { text, delta, message } = (choices[0] ?? {}) as Choice;
	const piece = text ?? (delta ?? message)?.content ?? "";
	return typeof piece === "string" ? piece : undefined;
}
