/** Uploads in parts, and bodies in the forms in which clients send them (D59). */
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import {
	AbortMultipartUploadCommand,
	CompleteMultipartUploadCommand,
	CreateMultipartUploadCommand,
	GetObjectCommand,
	ListMultipartUploadsCommand,
	ListPartsCommand,
	type S3Client,
	UploadPartCommand,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { clientOf, rawClientOf } from "./s3-client.ts";

let service: TestService;
let client: S3Client;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, other: {} } });
	client = clientOf(service, "ep");
});
afterAll(() => service.end());

const Bucket = "uploads";
const md5 = (bytes: Buffer): Buffer => createHash("md5").update(bytes).digest();

async function begun(Key: string): Promise<{ Bucket: string; Key: string; UploadId: string }> {
	const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType: "video/mp4" }));
	return { Bucket, Key, UploadId: UploadId! };
}

describe("an upload in parts", () => {
	it("D59: is one object with the ETag of S3, whichever order its parts came in, with ranges over them", async () => {
		const at = await begun("video");
		const parts = [randomBytes(70_000), randomBytes(5), randomBytes(1_100_000)];
		for (const PartNumber of [3, 1, 2])
			await client.send(new UploadPartCommand({ ...at, PartNumber, Body: parts[PartNumber - 1]! }));
		const page = await client.send(new ListPartsCommand({ ...at, MaxParts: 2 }));
		expect([page.Parts?.map(({ Size }) => Size), page.IsTruncated]).toEqual([[70_000, 5], true]);
		expect((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads).toMatchObject([
			{ Key: "video", UploadId: at.UploadId },
		]);
		const etags = parts.map(md5);
		const Parts = etags.map((etag, index) => ({ PartNumber: index + 1, ETag: `"${etag.toString("hex")}"` }));
		const complete = new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } });
		const whole = `"${md5(Buffer.concat(etags)).toString("hex")}-3"`;
		expect((await client.send(complete)).ETag).toBe(whole);
		// A client that did not get the answer asks again.
		expect((await client.send(complete)).ETag).toBe(whole);
		const all = Buffer.concat(parts);
		for (const [Range, bytes] of [
			[undefined, all],
			["bytes=69999-70005", all.subarray(69_999, 70_006)],
			["bytes=70005-70009", all.subarray(70_005, 70_010)],
		] as const) {
			const got = await client.send(new GetObjectCommand({ Bucket, Key: "video", Range }));
			expect(got.ContentType).toBe("video/mp4");
			expect(Buffer.from(await got.Body!.transformToByteArray()).equals(bytes)).toBe(true);
		}
		expect((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads).toBeUndefined();
	});

	it("D59: is seen only when it is complete; wrong parts are refused, an aborted one is missing", async () => {
		const at = await begun("half");
		const { ETag } = await client.send(new UploadPartCommand({ ...at, PartNumber: 1, Body: "part" }));
		const get = new GetObjectCommand({ Bucket, Key: "half" });
		await expect(client.send(get)).rejects.toMatchObject({ name: "NoSuchKey" });
		const complete = (...Parts: { PartNumber: number; ETag: string | undefined }[]) =>
			client.send(new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } }));
		const part = { PartNumber: 1, ETag };
		await expect(complete({ PartNumber: 1, ETag: '"x"' })).rejects.toMatchObject({ name: "InvalidPart" });
		await expect(complete(part, { PartNumber: 2, ETag })).rejects.toMatchObject({ name: "InvalidPart" });
		await expect(complete(part, part)).rejects.toMatchObject({ name: "InvalidPartOrder" });
		const other = new UploadPartCommand({ ...at, PartNumber: 1, Body: "part" });
		await expect(clientOf(service, "other").send(other)).rejects.toMatchObject({ name: "NoSuchUpload" });
		await client.send(new AbortMultipartUploadCommand(at));
		await expect(complete(part)).rejects.toMatchObject({ name: "NoSuchUpload" });
	});

	it("D59: lib-storage sends a stream of unknown length in parts", async () => {
		const content = randomBytes(6 * 2 ** 20);
		const Body = Readable.from([content.subarray(0, 1000), content.subarray(1000)]);
		await new Upload({ client, params: { Bucket, Key: "streamed", Body } }).done();
		const { Body: stored } = await client.send(new GetObjectCommand({ Bucket, Key: "streamed" }));
		expect(Buffer.from(await stored!.transformToByteArray()).equals(content)).toBe(true);
	});
});

describe("XML", () => {
	it.each([
		["<Delete><Object><Key>a</Key>", "MalformedXML"],
		["<!DOCTYPE x><Delete><Object><Key>a</Key></Object></Delete>", "MalformedXML"],
		["<Other><Object><Key>a</Key></Object></Other>", "MalformedXML"],
		["<Delete/>", "MalformedXML"],
		["<Delete><a><b><c><d><e/></d></c></b></a></Delete>", "MalformedXML"],
		["", "MalformedXML"],
	])("D59: %s is refused", async (body, code) => {
		const answer = await rawClientOf(service, "ep")("POST", "/uploads?delete", { body });
		expect([answer.status, answer.code]).toEqual([400, code]);
	});
});
