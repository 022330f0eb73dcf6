/** Chunks that are pieces of one text: plain strings, or events of OpenAI's API as its workers send them. */

interface Piece {
  choices?: readonly { text?: unknown; delta?: { content?: unknown } }[];
}

/** The text so far; undefined where the chunks are something else. */
export function textIn(chunks: readonly unknown[]): string | undefined {
  const texts = chunks.map((chunk) => (typeof chunk === "string" ? (chunk.startsWith("data:") ? textOfEvents(chunk) : chunk) : textOfPiece(chunk)));
  return chunks.length > 0 && texts.every((text) => text !== undefined) ? texts.join("") : undefined;
}

/** Text of `data: {...}` lines. */
function textOfEvents(events: string): string | undefined {
  let text = "";
  for (const line of events.split(/\r?\n/)) {
    const data = /^data:\s*(.*)$/.exec(line)?.[1];
    if (data === undefined || data === "[DONE]") continue;
    const piece = pieceOf(data);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
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
