/** Objects with official clients (D59). */
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import {
	CopyObjectCommand,
	CreateBucketCommand,
	DeleteBucketCommand,
	DeleteObjectCommand,
	DeleteObjectsCommand,
	GetObjectCommand,
	HeadBucketCommand,
	HeadObjectCommand,
	ListBucketsCommand,
	ListObjectsCommand,
	ListObjectsV2Command,
	PutObjectCommand,
	type S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { answerTo, clientOf, rawClientOf } from "./s3-client.ts";

let service: TestService;
let client: S3Client;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {}, other: {}, listed: {}, small: {} },
		settings: { files: { maxMb: 4, endpointMb: 8 } },
	});
	client = clientOf(service, "ep");
});
afterAll(() => service.end());

const LARGE = randomBytes(2 * 2 ** 20 + 17);
const Bucket = "11-26";

async function bytesOf(Key: string, from = client, more = {}): Promise<Buffer> {
	const { Body } = await from.send(new GetObjectCommand({ Bucket, Key, ...more }));
	return Buffer.from(await Body!.transformToByteArray());
}

const refused = (name: string, status: number) => ({
	name,
	$metadata: expect.objectContaining({ httpStatusCode: status }),
});

describe("an object", () => {
	it("D59: is stored from a buffer and from a stream, with its headers, and read byte for byte", async () => {
		for (const [at, Body] of [LARGE, Readable.from([LARGE]), Buffer.alloc(0)].entries()) {
			const Key = `job-1/ü '${at}' + %.png`;
			const headers = { ContentType: "image/png", CacheControl: "max-age=5", Metadata: { origin: "test" } };
			const content = at === 2 ? Buffer.alloc(0) : LARGE;
			const put = { Bucket, Key, Body, ...headers, ContentLength: content.length };
			const { ETag } = await client.send(new PutObjectCommand(put));
			expect(await client.send(new HeadObjectCommand({ Bucket, Key }))).toMatchObject({
				...{ ...headers, ETag, ContentLength: content.length, AcceptRanges: "bytes", LastModified: expect.any(Date) },
			});
			expect((await bytesOf(Key)).equals(content)).toBe(true);
		}
	});

	it("D59: a range is 206, one behind its end 416, an ETag that it has 304, another one 412", async () => {
		await client.send(new PutObjectCommand({ Bucket, Key: "ranges", Body: "0123456789" }));
		for (const [Range, text] of [
			["bytes=2-4", "234"],
			["bytes=7-", "789"],
			["bytes=-2", "89"],
		] as const)
			expect((await bytesOf("ranges", client, { Range })).toString()).toBe(text);
		const get = (more: object) => client.send(new GetObjectCommand({ Bucket, Key: "ranges", ...more }));
		await expect(get({ Range: "bytes=10-" })).rejects.toMatchObject(refused("InvalidRange", 416));
		const { ETag } = await get({});
		await expect(get({ IfNoneMatch: ETag })).rejects.toMatchObject({ $metadata: { httpStatusCode: 304 } });
		await expect(get({ IfMatch: '"x"' })).rejects.toMatchObject(refused("PreconditionFailed", 412));
		const put = new PutObjectCommand({ Bucket, Key: "ranges", Body: "", IfNoneMatch: "*" });
		await expect(client.send(put)).rejects.toMatchObject(refused("PreconditionFailed", 412));
		expect((await bytesOf("ranges")).toString()).toBe("0123456789");
	});

	it("D59: belongs to the endpoint of its credentials, is replaced, copied and deleted", async () => {
		const Key = "a//b/../c";
		await client.send(new PutObjectCommand({ Bucket, Key, Body: "one", ContentType: "text/plain" }));
		await client.send(new PutObjectCommand({ Bucket, Key, Body: "two", ContentType: "text/plain" }));
		const CopySource = `${Bucket}/${Key}`;
		const copied = await client.send(new CopyObjectCommand({ Bucket, Key: "copy", CopySource }));
		expect(copied.CopyObjectResult?.ETag).toBe((await client.send(new HeadObjectCommand({ Bucket, Key }))).ETag);
		await client.send(new DeleteObjectCommand({ Bucket, Key }));
		await expect(bytesOf(Key)).rejects.toMatchObject(refused("NoSuchKey", 404));
		expect((await bytesOf("copy")).toString()).toBe("two");
		await expect(bytesOf("copy", clientOf(service, "other"))).rejects.toMatchObject(refused("NoSuchBucket", 404));
		await client.send(new DeleteObjectCommand({ Bucket, Key }));
	});

	it("D59: with a wrong checksum is refused, and nothing is stored", async () => {
		const send = rawClientOf(service, "ep");
		const body = "content";
		for (const [name, value, code] of [
			["content-md5", randomBytes(16).toString("base64"), "BadDigest"],
			["x-amz-checksum-crc32", "AAAAAA==", "BadDigest"],
			["x-amz-checksum-sha1", randomBytes(20).toString("base64"), "BadDigest"],
			["x-amz-checksum-sha256", randomBytes(32).toString("base64"), "BadDigest"],
			["content-md5", "x", "InvalidDigest"],
			["x-amz-content-sha256", "0".repeat(64), "XAmzContentSHA256Mismatch"],
		] as const) {
			const answer = await send("PUT", `/${Bucket}/bad`, { body, headers: { [name]: value } });
			expect([name, answer.status, answer.code]).toEqual([name, 400, code]);
		}
		expect((await send("GET", `/${Bucket}/bad`)).code).toBe("NoSuchKey");
	});

	it("D59: beyond the bounds of files is refused", async () => {
		const small = clientOf(service, "small");
		const put = (Key: string, bytes: number) =>
			small.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(bytes) }));
		await expect(put("a", 4 * 2 ** 20 + 1)).rejects.toMatchObject(refused("EntityTooLarge", 400));
		await put("a", 4 * 2 ** 20);
		await put("b", 3 * 2 ** 20);
		await expect(put("c", 2 * 2 ** 20)).rejects.toMatchObject(refused("QuotaExceeded", 403));
		await small.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
		await put("c", 2 * 2 ** 20);
	});

	it("D59: cannot run at the console's address, and links to it work for anyone", async () => {
		const put = {
			Bucket,
			Key: "page/é.html",
			Body: "<script>",
			ContentType: "text/html",
			ContentDisposition: "inline",
		};
		await client.send(new PutObjectCommand(put));
		const signed = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: put.Key }), { expiresIn: 604_800 });
		const { status, headers, text } = await answerTo(signed, { headers: { origin: "https://app.example" } });
		expect([status, text]).toEqual([200, "<script>"]);
		expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
		expect(headers.get("x-content-type-options")).toBe("nosniff");
		expect(headers.get("content-disposition")).toMatch(/^attachment; /);
		expect(headers.get("access-control-allow-origin")).toBe("*");
		expect((await answerTo(signed.replace("page", "other"))).code).toBe("SignatureDoesNotMatch");
		expect((await answerTo(`${signed}&x-id=Other`)).code).toBe("SignatureDoesNotMatch");
		const upload = await getSignedUrl(client, new PutObjectCommand({ Bucket, Key: "by-link" }));
		expect((await answerTo(upload, { method: "PUT", body: "from a link" })).status).toBe(200);
		expect((await bytesOf("by-link")).toString()).toBe("from a link");
	});
});

describe("a bucket", () => {
	it("D59: exists from its first object, lists page by page with folders, and is deleted when empty", async () => {
		const listed = clientOf(service, "listed");
		const keys = ["a", "b/1", "b/2", "b/c/3", "d <&>", "é"];
		for (const Key of keys) await listed.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
		await listed.send(new CreateBucketCommand({ Bucket: "empty" }));
		expect((await listed.send(new ListBucketsCommand({}))).Buckets?.map(({ Name }) => Name)).toEqual([Bucket, "empty"]);
		const found: string[] = [];
		let ContinuationToken: string | undefined;
		do {
			const page = await listed.send(new ListObjectsV2Command({ Bucket, MaxKeys: 2, ContinuationToken }));
			found.push(...(page.Contents ?? []).map(({ Key }) => Key!));
			ContinuationToken = page.NextContinuationToken;
		} while (ContinuationToken !== undefined);
		expect(found).toEqual(keys);
		const folders = await listed.send(new ListObjectsCommand({ Bucket, Delimiter: "/", EncodingType: "url" }));
		expect(folders.Contents?.map(({ Key }) => Key)).toEqual(["a", "d%20%3C%26%3E", "%C3%A9"]);
		expect(folders.CommonPrefixes).toEqual([{ Prefix: "b/" }]);
		const inB = await listed.send(
			new ListObjectsV2Command({ Bucket, Prefix: "b/", Delimiter: "/", StartAfter: "b/1" }),
		);
		expect([inB.Contents?.map(({ Key }) => Key), inB.CommonPrefixes]).toEqual([["b/2"], [{ Prefix: "b/c/" }]]);
		const deleteBucket = new DeleteBucketCommand({ Bucket });
		await expect(listed.send(deleteBucket)).rejects.toMatchObject(refused("BucketNotEmpty", 409));
		const Objects = keys.map((Key) => ({ Key }));
		const { Deleted } = await listed.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
		expect(Deleted).toEqual(Objects);
		await listed.send(deleteBucket);
		await expect(listed.send(new HeadBucketCommand({ Bucket }))).rejects.toMatchObject({
			$metadata: { httpStatusCode: 404 },
		});
	});

	it("D59: answers what clients ask about it, and refuses what is not there", async () => {
		await client.send(new CreateBucketCommand({ Bucket: "asked" }));
		const send = rawClientOf(service, "ep");
		const ask = async (method: string, path: string, headers = {}) => {
			const { status, code, text } = await send(method, path, { headers });
			return [status, code ?? /<(\w+) xmlns/.exec(text)?.[1]];
		};
		expect(await ask("GET", "/asked?location")).toEqual([200, "LocationConstraint"]);
		expect(await ask("GET", "/asked?versioning=")).toEqual([200, "VersioningConfiguration"]);
		expect(await ask("GET", "/asked?acl")).toEqual([200, "AccessControlPolicy"]);
		expect(await ask("GET", "/asked?policy")).toEqual([404, "NoSuchBucketPolicy"]);
		expect(await ask("GET", "/asked?cors")).toEqual([404, "NoSuchCORSConfiguration"]);
		expect(await ask("GET", "/none?location")).toEqual([404, "NoSuchBucket"]);
		for (const [method, path, headers] of [
			["GET", "/asked?versions", {}],
			["GET", "/asked/k?tagging", {}],
			["PUT", "/asked?policy", {}],
			["POST", "/asked", {}],
			["PUT", "/asked/k", { "x-amz-acl": "public-read" }],
			["PUT", "/asked/k", { "x-amz-server-side-encryption": "AES256" }],
			["PUT", "/asked/k", { "if-match": '"x"' }],
		] as const)
			expect(await ask(method, path, headers)).toEqual([501, "NotImplemented"]);
		expect(await ask("PUT", "/")).toEqual([405, "MethodNotAllowed"]);
		expect(await ask("PUT", "/~bad")).toEqual([400, "InvalidBucketName"]);
		expect(await ask("PUT", `/asked/${"k".repeat(1025)}`)).toEqual([400, "KeyTooLongError"]);
	});
});
