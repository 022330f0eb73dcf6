/** Decodes bodies that were compressed for the transfer (D3). */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ApiError } from "../../core/errors.ts";

/** Values of `Content-Encoding` that are supported, as a refusal names them. */
const CODINGS = "gzip, br, deflate";

const DECODERS = {
	gzip: createGunzip,
	"x-gzip": createGunzip,
	br: createBrotliDecompress,
	deflate: createInflate,
} as const;

/** Decoded bytes up to which the ratio is not checked. */
const FREE_BYTES = 1024 * 1024;

/** Maximum decoded bytes for one received byte. JSON reaches 20, with long runs of one character 1,000. */
const MOST_RATIO = 200;

/** Bytes that a brotli decoder may allocate for its window at the first byte of its content. */
export const WINDOW_BYTES = 16 * 1024 * 1024;

type Coding = keyof typeof DECODERS;

type Decoder = ReturnType<(typeof DECODERS)[Coding]>;

/** A body as its sender wrote it, before compression. */
export interface Content {
	source: Readable;
	/** Returns the refusal of content that is too large in proportion to the received bytes. */
	fault(decodedBytes: number): ApiError | undefined;
	/** Stops decoding; later input is dropped. */
	drop(): void;
}

/** Returns the maximum of decoded bytes for this number of received ones. */
export function mostDecoded(received: number): number {
	return Math.max(FREE_BYTES, MOST_RATIO * received);
}

/** Returns the decoded content of a request. `fail` is called with the refusal of damaged content. */
export function contentOf(req: IncomingMessage, coding: Coding | undefined, fail: (error: ApiError) => void): Content {
	if (coding === undefined) return { source: req, fault: () => undefined, drop: () => {} };
	const decoder: Decoder = DECODERS[coding]();
	const drop = (): void => {
		req.unpipe(decoder);
		decoder.destroy();
	};
	decoder.on("error", ({ message }) => fail(badCoding(coding, message)));
	decoder.on("end", () => {
		// A decoder reads nothing after the end of its content, and the request would never end.
		if (!req.readableEnded) fail(badCoding(coding, "there is more behind its end"));
	});
	req.pipe(decoder);
	return {
		source: decoder,
		fault: (decoded) =>
			decoded > mostDecoded(decoder.bytesWritten)
				? badCoding(coding, `its content is over ${MOST_RATIO} times as large as what was sent`)
				: undefined,
		drop,
	};
}

/** Returns the coding of a body; undefined without one. Throws 415 for one that is not supported. */
export function codingOf({ headers }: IncomingMessage): Coding | undefined {
	const given = headers["content-encoding"];
	const coding = given?.trim().toLowerCase() ?? "";
	if (coding === "" || coding === "identity") return undefined;
	if (Object.hasOwn(DECODERS, coding)) return coding as Coding;
	throw new ApiError("unsupported_encoding", { encoding: coding.slice(0, 40), codings: CODINGS });
}

function badCoding(coding: string, why: string): ApiError {
	return new ApiError("bad_encoding", { encoding: coding, why });
}
