import { describe, expect, it } from "vitest";
import { payloadOf } from "./payload.ts";
import { readSignature, type SentRequest, verify } from "./signature.ts";

/** The example of AWS's documentation: 64 KiB and 1 KiB of "a" in signed chunks. */
const HEADERS: Readonly<Record<string, string>> = {
	authorization:
		"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" +
		"content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;" +
		"x-amz-storage-class,Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
	"content-encoding": "aws-chunked",
	"content-length": "66824",
	"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
	"x-amz-date": "20130524T000000Z",
	"x-amz-decoded-content-length": "66560",
	"x-amz-storage-class": "REDUCED_REDUNDANCY",
};
const CHUNKS = [
	["10000", "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"],
	["400", "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"],
	["0", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"],
] as const;
const SIGNED = CHUNKS.map(
	([size, signature]) => `${size};chunk-signature=${signature}\r\n${"a".repeat(Number.parseInt(size, 16))}\r\n`,
).join("");

const SENT: SentRequest = {
	method: "PUT",
	path: "/examplebucket/chunkObject.txt",
	query: [],
	headers: new Map(Object.entries(HEADERS).map(([name, value]) => [name, [value]])),
};
const signer = verify(SENT, readSignature(SENT), {
	secrets: ["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
	places: [{ host: "s3.amazonaws.com", path: SENT.path }],
	now: Date.UTC(2013, 4, 24),
});

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
	const bytes = Buffer.from(text, "latin1");
	for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, payload: string, headers: Readonly<Record<string, string>> = HEADERS, size = 4099) {
	const found = payloadOf({ payload, signer, pieces: pieces(text, size), header: (name) => headers[name] });
	const all: Buffer[] = [];
	for await (const piece of found.content) all.push(piece);
	return { content: Buffer.concat(all).toString(), md5: found.md5().toString("hex"), checked: found.checked() };
}

const refusedWith = (s3Code: string) => expect.objectContaining({ s3Code });

describe("D59: signed chunks", () => {
	it.each([1, 7, 4099, 100_000])("AWS's example is accepted in pieces of %i bytes", async (size) => {
		expect((await read(SIGNED, HEADERS["x-amz-content-sha256"]!, HEADERS, size)).content).toBe("a".repeat(66_560));
	});

	it.each([
		["a byte of the content", SIGNED.replace("\r\naaa", "\r\naab"), "SignatureDoesNotMatch"],
		["a signature", SIGNED.replace("ad80", "ad81"), "SignatureDoesNotMatch"],
		["chunks left out", SIGNED.slice(SIGNED.indexOf("0;chunk-signature=b6")), "SignatureDoesNotMatch"],
		["no signature", SIGNED.replace(/;chunk-signature=ad\w+/, ""), "SignatureDoesNotMatch"],
		["an end within a chunk", SIGNED.slice(0, 30_000), "IncompleteBody"],
		["an end before the last chunk", SIGNED.slice(0, 66_700), "IncompleteBody"],
		["a head that is none", `x${SIGNED}`, "InvalidRequest"],
		["a line without end", "1".repeat(2000), "InvalidRequest"],
		["another size", SIGNED.replace("400;", "3ff;"), "SignatureDoesNotMatch"],
		["more behind its end", `${SIGNED}x`, "InvalidRequest"],
	])("with %s is refused", async (_, text, code) => {
		await expect(read(text, HEADERS["x-amz-content-sha256"]!)).rejects.toEqual(refusedWith(code));
	});
});

describe("D59: chunks with a trailer", () => {
	const UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
	const headers = { "x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc32" };
	const body = (crc: string): string => `3\r\nhel\r\n2\r\nlo\r\n0\r\nx-amz-checksum-crc32:${crc}\r\n\r\n`;

	it("are checked by it", async () => {
		expect(await read(body("NhCmhg=="), UNSIGNED, headers, 2)).toEqual({
			content: "hello",
			md5: "5d41402abc4b2a76b9719d911017c592",
			checked: { "x-amz-checksum-crc32": "NhCmhg==" },
		});
		await expect(read(body("NhCmhw=="), UNSIGNED, headers)).rejects.toEqual(refusedWith("BadDigest"));
	});

	it("must have the declared length", async () => {
		for (const length of ["4", "6"]) {
			const other = { ...headers, "x-amz-decoded-content-length": length };
			await expect(read(body("NhCmhg=="), UNSIGNED, other)).rejects.toEqual(refusedWith("IncompleteBody"));
		}
		await expect(read(body("NhCmhg=="), UNSIGNED, {})).rejects.toEqual(refusedWith("InvalidArgument"));
	});

	it("must have it where the head announces it", async () => {
		await expect(read("5\r\nhello\r\n0\r\n\r\n", UNSIGNED, headers)).rejects.toEqual(refusedWith("InvalidRequest"));
	});

	it("are refused when there are very many small ones", async () => {
		const many = (count: number, size: number) => {
			const chunk = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
			const declared = { "x-amz-decoded-content-length": String(count * size) };
			return read(`${chunk.repeat(count)}0\r\n\r\n`, UNSIGNED, declared);
		};
		expect((await many(1000, 1)).content).toHaveLength(1000);
		expect((await many(2000, 256)).content).toHaveLength(512_000);
		await expect(many(1002, 1)).rejects.toEqual(refusedWith("InvalidRequest"));
	});

	it("signed ones need the signature of the trailer", async () => {
		const chunks = SIGNED.slice(0, -2);
		const trailer = `${chunks}x-amz-checksum-crc32:AAAAAA==\r\n\r\n`;
		const text = `${HEADERS["x-amz-content-sha256"]!}-TRAILER`;
		await expect(read(trailer, text)).rejects.toEqual(refusedWith("SignatureDoesNotMatch"));
	});
});

it("D59: an unknown form of a body is refused, and one without a hash is taken", async () => {
	expect(() => payloadOf({ payload: "x", signer, pieces: pieces("", 1), header: () => undefined })).toThrow(/UNSIGNED/);
	expect((await read("abc", "UNSIGNED-PAYLOAD", {})).content).toBe("abc");
});
