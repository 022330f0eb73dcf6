/** Reads request bodies: capped before they are buffered (D3), scanned as JSON while they arrive, never parsed into values (D5). */
import { ApiError } from "../core/errors.ts";
import { jsonScanner } from "../core/json-scan.ts";
import type { JsonMember, JsonScan } from "../core/json-scan.ts";
import { LARGE_BYTES } from "../core/json-text.ts";
import type { JsonText } from "../core/json-text.ts";
import type { Call } from "./call.ts";

/** A body, whole, with what the scan found. */
export interface ScannedBody {
  bytes: Buffer;
  scan: JsonScan;
  /** Text of a member as it stands in the body, or undefined. */
  text(member: JsonMember | undefined): string | undefined;
  /** The same, as bytes of this body when it is large. */
  payload(member: JsonMember | undefined): JsonText | undefined;
}

/** Options of the scan: members to find, deepest nesting, longest integer. */
export interface ScanOptions {
  members: readonly string[];
  maxDepth?: number;
  maxDigits?: number;
}

/** Thrown when a body exceeds its cap; `size` is undefined when the client did not say it. */
export class BodyTooLarge extends ApiError {
  readonly size: number | undefined;
  constructor(size: number | undefined, limit: number) {
    super("body_too_large", { size: size ?? `over ${limit}`, limit });
    this.size = size;
  }
}

/** The body as JSON text, scanned. Throws {@link BodyTooLarge}; a fault in the JSON is in `scan`. */
export function readJson(call: Call, options: ScanOptions): Promise<ScannedBody> {
  const { req, maxBody } = call;
  const declared = req.headers["content-length"];
  const size = declared === undefined ? undefined : Number(declared);
  if (size !== undefined && size > maxBody) return Promise.reject(new BodyTooLarge(size, maxBody));
  return new Promise((resolve, reject) => {
    const scanner = jsonScanner(options);
    // Where the size is known and large, the pieces are put in their place as they come.
    const large = size !== undefined && size >= LARGE_BYTES ? Buffer.allocUnsafeSlow(size) : undefined;
    const pieces: Buffer[] = [];
    let length = 0;
    req.on("data", (piece: Buffer) => {
      const at = length;
      length += piece.length;
      if (length > maxBody) {
        pieces.length = 0;
        req.removeAllListeners("data");
        req.resume();
        reject(new BodyTooLarge(undefined, maxBody));
        return;
      }
      scanner.push(piece);
      if (large) large.set(piece, at);
      else pieces.push(piece);
    });
    req.on("end", () => {
      const bytes = large ?? (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length));
      const scan = scanner.finish();
      const encoding = scan.ok && scan.ascii ? "latin1" : "utf8";
      const text = (member: JsonMember | undefined): string | undefined => (member ? bytes.toString(encoding, member.start, member.end) : undefined);
      const payload = (member: JsonMember | undefined): JsonText | undefined => (member && member.end - member.start >= LARGE_BYTES ? bytes.subarray(member.start, member.end) : text(member));
      resolve({ bytes, scan, text, payload });
    });
    req.on("error", reject);
    req.on("close", () => {
      if (!req.complete) reject(new ApiError("bad_json", { why: "the connection closed before the body was whole.", type: "" }));
    });
  });
}

/** The 400 for a body that is not a JSON object; names the content type if it was not JSON (D4). */
export function notAnObject(call: Call, scan: JsonScan): ApiError {
  const type = call.req.headers["content-type"];
  const hint = type !== undefined && !/json/i.test(type) ? `; its Content-Type says '${type.slice(0, 100)}'` : "";
  const why = scan.ok ? `it is ${scan.kind === "array" ? "an array" : `a ${scan.kind}`}.` : scan.fault.message;
  return new ApiError("bad_json", { why, type: hint });
}
