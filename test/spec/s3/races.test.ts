/** Requests for the same objects at the same time (D59): afterwards each object is whole, and the totals are right. */
import { createHash, randomBytes } from "node:crypto";
import {
	AbortMultipartUploadCommand,
	CompleteMultipartUploadCommand,
	CopyObjectCommand,
	CreateMultipartUploadCommand,
	DeleteObjectCommand,
	DeleteObjectsCommand,
	GetObjectCommand,
	ListObjectsV2Command,
	PutObjectCommand,
	S3ServiceException,
	UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { clientOf } from "./s3-client.ts";

const MB = 2 ** 20;

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, full: {} }, settings: { files: { maxMb: 4, endpointMb: 8 } } });
});
afterAll(() => service.end());

const Bucket = "b";
const md5 = (bytes: Uint8Array): string => `"${createHash("md5").update(bytes).digest("hex")}"`;
const totals = async (endpoint: string) => {
	const found = (await service.engine.kernel.store.files.totals()).find((each) => each.endpoint === endpoint);
	return [found?.files ?? 0, found?.bytes ?? 0];
};

/** What S3 refuses while others change the same objects. */
async function tried(wanted: Promise<unknown>, ...allowed: string[]): Promise<boolean> {
	try {
		await wanted;
		return true;
	} catch (error) {
		if (!(error instanceof S3ServiceException) || !allowed.includes(error.name)) throw error;
		return false;
	}
}

describe("at the same time", () => {
	it("D59: writes, copies, deletions and uploads of a few keys leave whole objects and right totals", async () => {
		const client = clientOf(service, "ep");
		const keys = ["one", "two"];
		async function round(Key: string, other: string, n: number): Promise<void> {
			const body = randomBytes(1000 + n);
			const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
			const at = { Bucket, Key, UploadId };
			const first = await client.send(new UploadPartCommand({ ...at, PartNumber: 1, Body: body }));
			const Parts = [{ PartNumber: 1, ETag: first.ETag }];
			const complete = () => client.send(new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } }));
			const put = (Body: Uint8Array) => client.send(new PutObjectCommand({ Bucket, Key, Body }));
			const get = async (): Promise<void> => {
				const { Body, ETag } = await client.send(new GetObjectCommand({ Bucket, Key: other }));
				const bytes = await Body!.transformToByteArray();
				// Uploads have one part here.
				const whole = createHash("md5").update(createHash("md5").update(bytes).digest()).digest("hex");
				expect([md5(bytes), `"${whole}-1"`]).toContain(ETag);
			};
			const ends = await Promise.all([
				tried(complete(), "NoSuchUpload", "InvalidPart"),
				tried(complete(), "NoSuchUpload", "InvalidPart"),
				tried(client.send(new UploadPartCommand({ ...at, PartNumber: 1, Body: "other" })), "NoSuchUpload"),
				tried(client.send(new AbortMultipartUploadCommand(at)), "NoSuchUpload"),
				put(body),
				put(randomBytes(5)),
				tried(client.send(new CopyObjectCommand({ Bucket, Key: other, CopySource: `${Bucket}/${Key}` })), "NoSuchKey"),
				client.send(new DeleteObjectCommand({ Bucket, Key: other })),
				tried(get(), "NoSuchKey"),
			]);
			// Completed or aborted, not both.
			expect(ends[3] && (ends[0] || ends[1])).toBe(false);
		}
		for (let n = 0; n < 5; n += 1) await Promise.all([round("one", "two", n), round("two", "one", n)]);
		const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
		for (const { Key, Size } of Contents) {
			const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
			expect(await Body!.transformToByteArray()).toHaveLength(Size!);
		}
		await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } }));
		expect(await totals("ep")).toEqual([0, 0]);
	});

	it("D59: a read whose object is replaced or deleted before its bytes are opened has what is there then", async () => {
		const client = clientOf(service, "ep");
		const at = { Bucket, Key: "read" };
		const put = (Body: string) => client.send(new PutObjectCommand({ ...at, Body }));
		const get = async () => (await client.send(new GetObjectCommand(at))).Body!.transformToString();
		const files = service.engine.kernel.hooks.files!;
		const { open } = files;
		const before = (change: () => Promise<unknown>): void => {
			files.open = async (file, range) => {
				files.open = open;
				await change();
				await files.remove(file.id);
				return await open(file, range);
			};
		};
		await put("first");
		before(() => put("second"));
		expect(await get()).toBe("second");
		before(() => client.send(new DeleteObjectCommand(at)));
		await expect(get()).rejects.toMatchObject({ name: "NoSuchKey" });
	});

	it("D59: of uploads that do not fit together some are stored, and never too many", async () => {
		const client = clientOf(service, "full");
		const put = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(3 * MB) }));
		const ends = await Promise.all(["a", "b", "c", "d"].map((Key) => tried(put(Key), "QuotaExceeded")));
		const stored = ends.filter(Boolean).length;
		expect([1, 2]).toContain(stored);
		expect(await totals("full")).toEqual([stored, stored * 3 * MB]);
	});

	it("D59: of writes with If-None-Match one is stored", async () => {
		const client = clientOf(service, "ep");
		const put = (Body: string) => client.send(new PutObjectCommand({ Bucket, Key: "new", Body, IfNoneMatch: "*" }));
		const ends = await Promise.all(["1", "2", "3", "4"].map((body) => tried(put(body), "PreconditionFailed")));
		const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: "new" }));
		expect([ends.filter(Boolean).length, await Body!.transformToString()]).toEqual([1, String(ends.indexOf(true) + 1)]);
	});
});
