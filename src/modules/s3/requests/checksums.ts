/** Checksums that S3 clients send in headers or behind the body (D59). */
import { createHash, type Hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { S3Error } from "../errors.ts";

const MD5 = "content-md5";
const HEADER = /^x-amz-checksum-(crc32|sha1|sha256)$/;

type Algorithm = "crc32" | "sha1" | "sha256";

/** Bytes of each. Others, such as CRC32C, are accepted unchecked and not returned. */
const SIZES: Readonly<Record<Algorithm | "md5", number>> = { crc32: 4, sha1: 20, sha256: 32, md5: 16 };

export class Checksums {
	readonly #expected = new Map<string, string>();
	/** Those that are to follow the body. */
	readonly #announced: readonly string[];
	readonly #md5 = createHash("md5");
	readonly #hashes = new Map<Algorithm, Hash>();
	#crc: number | undefined;
	#digest: Buffer = Buffer.alloc(0);

	constructor(header: (name: string) => string | undefined) {
		const trailers = (header("x-amz-trailer") ?? "").toLowerCase().split(",");
		this.#announced = trailers.map((each) => each.trim()).filter((each) => HEADER.test(each));
		for (const algorithm of ["crc32", "sha1", "sha256"] as const) {
			const name = `x-amz-checksum-${algorithm}`;
			const value = header(name);
			if (value !== undefined) this.expect(name, value);
			if (value === undefined && !this.#announced.includes(name)) continue;
			if (algorithm === "crc32") this.#crc = 0;
			else this.#hashes.set(algorithm, createHash(algorithm));
		}
		const md5 = header(MD5);
		if (md5 !== undefined) this.expect(MD5, md5);
	}

	/** Throws `InvalidDigest` for what is no checksum. */
	expect(name: string, value: string): void {
		const algorithm = name === MD5 ? "md5" : (HEADER.exec(name)?.[1] as Algorithm | undefined);
		if (algorithm === undefined) return;
		if (Buffer.from(value, "base64").length !== SIZES[algorithm])
			throw new S3Error("InvalidDigest", `${name} must be a checksum of ${SIZES[algorithm]} bytes in base64.`);
		this.#expected.set(name, value);
	}

	update(piece: Buffer): void {
		this.#md5.update(piece);
		if (this.#crc !== undefined) this.#crc = crc32(piece, this.#crc);
		for (const hash of this.#hashes.values()) hash.update(piece);
	}

	/** Throws `BadDigest` if one that was sent is not right, `InvalidRequest` if one that was announced is missing. */
	finish(): void {
		const missing = this.#announced.find((name) => !this.#expected.has(name));
		if (missing !== undefined)
			throw new S3Error("InvalidRequest", `x-amz-trailer announces ${missing}, which does not follow the body.`);
		this.#digest = this.#md5.digest();
		const actual = new Map<string, string>([[MD5, this.#digest.toString("base64")]]);
		for (const [algorithm, hash] of this.#hashes) actual.set(`x-amz-checksum-${algorithm}`, hash.digest("base64"));
		if (this.#crc !== undefined) {
			const bytes = Buffer.alloc(4);
			bytes.writeUInt32BE(this.#crc);
			actual.set("x-amz-checksum-crc32", bytes.toString("base64"));
		}
		for (const [name, value] of this.#expected)
			if (actual.get(name) !== value)
				throw new S3Error("BadDigest", `The ${name} that was sent is not that of the body.`);
	}

	get md5(): Buffer {
		return this.#digest;
	}

	get checked(): Readonly<Record<string, string>> {
		return Object.fromEntries([...this.#expected].filter(([name]) => name !== MD5));
	}
}
