/** Bodies of S3 clients (D59): undoes `aws-chunked`, and checks hashes, signatures of chunks and checksums. */
import { createHash, timingSafeEqual } from "node:crypto";
import { Checksums } from "./checksums.ts";
import { S3Error } from "../errors.ts";
import { type ChunkSigner, chunkSignature, UNSIGNED } from "./signature.ts";

const STREAMING = /^STREAMING-(?:UNSIGNED-PAYLOAD-TRAILER|AWS4-HMAC-SHA256-PAYLOAD(?:-TRAILER)?)$/;
const HASH = /^[0-9a-f]{64}$/;

/** A line of a chunk's head has a size and a signature; one of a trailer a checksum. */
const LONGEST_LINE = 1024;
const MOST_TRAILERS = 16;

/** Each chunk costs time, however small it is. Some clients send what a stream gives them. */
const FEW_CHUNKS = 1000;
const LEAST_MEAN = 256;

export interface SentBody {
	/** What the signature says of it. */
	payload: string;
	signer: ChunkSigner;
	pieces: AsyncIterable<Buffer>;
	/** The first value of a header. */
	header: (name: string) => string | undefined;
}

export interface Payload {
	/** Yields the content. Throws at its end if the content is not what was declared. */
	content: AsyncIterable<Buffer>;
	/** Bytes of the content, if the head says so. */
	declared: number | undefined;
	/** After the content. */
	md5(): Buffer;
	/** Headers with the checksums that the client sent, and that are right. After the content. */
	checked(): Readonly<Record<string, string>>;
}

/** Throws for a head that no body can fit. */
export function payloadOf({ payload, signer, pieces, header }: SentBody): Payload {
	const isStreaming = STREAMING.test(payload);
	if (!isStreaming && payload !== UNSIGNED && !HASH.test(payload))
		throw new S3Error(
			"InvalidArgument",
			"x-amz-content-sha256 must be the SHA-256 of the body in hex, UNSIGNED-PAYLOAD, " +
				"STREAMING-UNSIGNED-PAYLOAD-TRAILER or STREAMING-AWS4-HMAC-SHA256-PAYLOAD, also with -TRAILER.",
		);
	const length = header(isStreaming ? "x-amz-decoded-content-length" : "content-length");
	const declared = length === undefined ? undefined : /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN;
	if (Number.isNaN(declared) || (isStreaming && declared === undefined))
		throw new S3Error("InvalidArgument", "x-amz-decoded-content-length must be the number of bytes of the content.");
	const checksums = new Checksums(header);
	const hash = HASH.test(payload) ? createHash("sha256") : undefined;
	const source = isStreaming
		? new Chunks(pieces, payload.includes("AWS4") ? signer : undefined, (name, value) => checksums.expect(name, value))
		: { content: () => pieces };

	async function* content(): AsyncGenerator<Buffer, void> {
		let bytes = 0;
		for await (const piece of source.content()) {
			bytes += piece.length;
			if (declared !== undefined && bytes > declared) break;
			checksums.update(piece);
			hash?.update(piece);
			yield piece;
		}
		if (declared !== undefined && bytes !== declared)
			throw new S3Error("IncompleteBody", `The body has not the ${declared} bytes that the head declares.`);
		if (hash && hash.digest("hex") !== payload)
			throw new S3Error("XAmzContentSHA256Mismatch", "The SHA-256 of the body is not that of x-amz-content-sha256.");
		checksums.finish();
	}

	return { content: content(), declared, md5: () => checksums.md5, checked: () => checksums.checked };
}

/** `size[;chunk-signature=hex]`, content, …, a chunk of size 0, trailers, an empty line; each line ends with CRLF. */
class Chunks {
	readonly #source: AsyncIterator<Buffer>;
	readonly #signer: ChunkSigner | undefined;
	readonly #onTrailer: (name: string, value: string) => void;
	#buffer: Buffer = Buffer.alloc(0);
	#before: string;

	constructor(
		pieces: AsyncIterable<Buffer>,
		signer: ChunkSigner | undefined,
		onTrailer: (name: string, value: string) => void,
	) {
		this.#source = pieces[Symbol.asyncIterator]();
		this.#signer = signer;
		this.#onTrailer = onTrailer;
		this.#before = signer?.signature ?? "";
	}

	async *content(): AsyncGenerator<Buffer, void> {
		let bytes = 0;
		for (let count = 0; ; count += 1) {
			if (count > FEW_CHUNKS && bytes < count * LEAST_MEAN)
				throw malformed(`its chunks have fewer than ${LEAST_MEAN} bytes on average`);
			const head = await this.#line();
			const [, digits, signature = ""] = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(head) ?? [];
			if (digits === undefined) throw malformed("the head of a chunk cannot be read");
			const hash = this.#signer && createHash("sha256");
			const size = Number.parseInt(digits, 16);
			bytes += size;
			for (let left = size; left > 0; ) {
				if (this.#buffer.length === 0) await this.#pull();
				const piece = this.#buffer.subarray(0, left);
				this.#buffer = this.#buffer.subarray(piece.length);
				left -= piece.length;
				hash?.update(piece);
				yield piece;
			}
			if (hash) this.#check("PAYLOAD", [EMPTY_HASH, hash.digest("hex")], signature);
			if (size === 0) return await this.#trailers();
			if ((await this.#line()) !== "") throw malformed("a chunk does not end where its head says");
		}
	}

	async #trailers(): Promise<void> {
		let text = "";
		let isSigned = this.#signer === undefined;
		for (let count = 0; ; count += 1) {
			const line = await this.#line();
			if (line === "" && (isSigned || text === "")) return await this.#end();
			if (line === "") throw new S3Error("SignatureDoesNotMatch", "The trailers of the body are not signed.");
			const colon = line.indexOf(":");
			const name = line.slice(0, Math.max(0, colon));
			const value = line.slice(colon + 1).trim();
			if (!/^[\w-]{1,64}$/.test(name) || /\s/.test(value) || count === MOST_TRAILERS)
				throw malformed("a trailer cannot be read");
			const lower = name.toLowerCase();
			if (lower === "x-amz-trailer-signature") {
				if (this.#signer) this.#check("TRAILER", [createHash("sha256").update(text).digest("hex")], value);
				isSigned = true;
				continue;
			}
			text += `${lower}:${value}\n`;
			this.#onTrailer(lower, value);
		}
	}

	async #end(): Promise<void> {
		const { done } = this.#buffer.length > 0 ? { done: false } : await this.#source.next();
		if (!done) throw malformed("it goes on behind its end");
	}

	#check(kind: "PAYLOAD" | "TRAILER", hashes: readonly string[], given: string): void {
		const signature = chunkSignature(this.#signer!, kind, this.#before, hashes);
		const isSame = given.length === signature.length && timingSafeEqual(Buffer.from(given), Buffer.from(signature));
		if (!isSame) throw new S3Error("SignatureDoesNotMatch", "The signature of a chunk of the body is not right.");
		this.#before = signature;
	}

	async #line(): Promise<string> {
		for (;;) {
			const end = this.#buffer.indexOf("\r\n");
			if (end > LONGEST_LINE || (end < 0 && this.#buffer.length > LONGEST_LINE)) throw malformed("a line is too long");
			if (end < 0) {
				await this.#pull();
				continue;
			}
			const line = this.#buffer.toString("latin1", 0, end);
			this.#buffer = this.#buffer.subarray(end + 2);
			return line;
		}
	}

	async #pull(): Promise<void> {
		const { done, value } = await this.#source.next();
		if (done) throw new S3Error("IncompleteBody", "The body ended within a chunk.");
		this.#buffer = this.#buffer.length === 0 ? value : Buffer.concat([this.#buffer, value]);
	}
}

const EMPTY_HASH = createHash("sha256").digest("hex");

function malformed(why: string): S3Error {
	return new S3Error("InvalidRequest", `The body cannot be read as aws-chunked: ${why}.`);
}
