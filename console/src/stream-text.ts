/**
 * Chunks that are pieces of one text: plain strings, or what OpenAI's API streams, as objects or as
 * the bytes of its events, cut anywhere.
 */

interface Piece {
	choices?: readonly { text?: unknown; delta?: { content?: unknown } }[];
}

/** The text so far; undefined where the chunks are something else. */
export function textIn(chunks: readonly unknown[]): string | undefined {
	if (chunks.length === 0) return undefined;
	if (chunks.every((chunk) => typeof chunk === "string")) {
		const whole = chunks.join("");
		return whole.startsWith("data:") ? (textOfEvents(whole) ?? whole) : whole;
	}
	const texts = chunks.map(textOfPiece);
	return texts.every((text) => text !== undefined) ? texts.join("") : undefined;
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

/** Of one chunk object: the first choice; the last one, which holds counts, has none. */
function textOfPiece(chunk: unknown): string | undefined {
	if (typeof chunk !== "object" || chunk === null) return undefined;
	const { choices } = chunk as Piece;
	if (!Array.isArray(choices)) return undefined;
	const { text, delta } = (choices[0] ?? {}) as { text?: unknown; delta?: { content?: unknown } };
	const piece = text ?? delta?.content ?? "";
	return typeof piece === "string" ? piece : undefined;
}
