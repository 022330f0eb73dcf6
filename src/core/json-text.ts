/** JSON text on its way through the service (D5). What is small travels as a string; what is large stays the UTF-8 bytes it came as, so that no megabytes are copied into strings and out again. */

/** A text: a string, or its UTF-8 bytes. */
export type JsonText = string | Uint8Array;

/** A text in pieces, in their order; a string for one that is small. */
export type JsonPieces = string | readonly JsonText[];

/** From so many bytes on a text stays bytes. */
export const LARGE_BYTES = 65_536;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** The text as a string, for those who must read it. */
export function stringOf(text: JsonText): string {
  return typeof text === "string" ? text : decoder.decode(text);
}

/** The text in one: a string when all pieces are. */
export function asOne(pieces: JsonPieces): JsonText {
  const compacted = typeof pieces === "string" ? pieces : compact(pieces);
  if (typeof compacted === "string") return compacted;
  const parts = compacted.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The pieces, as one string where all of them are strings. */
export function compact(pieces: readonly JsonText[]): JsonPieces {
  return pieces.every((piece) => typeof piece === "string") ? pieces.join("") : pieces;
}
