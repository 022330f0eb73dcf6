/** An upload of 200 MB in parts while the service is killed (D59): nothing of it is seen before all of it is. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import {
	CompleteMultipartUploadCommand,
	CreateMultipartUploadCommand,
	GetObjectCommand,
	HeadObjectCommand,
	ListObjectsV2Command,
	ListPartsCommand,
	type Part,
	PutObjectCommand,
	S3Client,
	UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { site } from "../e2e/site.ts";
import { call, type ServiceProcess } from "../support/service.ts";
import { ON_POSTGRES } from "../support/service-store.ts";
import { until } from "../support/until.ts";

const [PARTS, PART_BYTES] = [10, 20 * 2 ** 20];

/** Parts that are sent at a time; the service is killed when so many are stored. */
const [TOGETHER, BEFORE_KILL] = [3, 4];

const AT = { Bucket: "large", Key: "video" };
const BEFORE = "what the key had before";

/** Each part has bytes of its own. */
const partOf = (number: number): Buffer => Buffer.alloc(PART_BYTES, `part ${number} `);
const numbers = Array.from({ length: PARTS }, (_, n) => n + 1);

async function clientOf({ url }: ServiceProcess): Promise<S3Client> {
	const { json } = await call(url, "/v1/endpoints/ep/s3");
	const credentials = { accessKeyId: json.accessKeyId, secretAccessKey: json.secretAccessKey };
	return new S3Client({
		...{ endpoint: `${url}/s3`, region: "us-east-1", forcePathStyle: true, credentials, maxAttempts: 1 },
	});
}

/** Sends these parts, a few at a time, until one of them fails. */
async function send(client: S3Client, UploadId: string, wanted: number[], sent: (n: number) => void): Promise<void> {
	const left = [...wanted];
	async function sender(): Promise<void> {
		for (let PartNumber = left.shift(); PartNumber !== undefined; PartNumber = left.shift()) {
			await client.send(new UploadPartCommand({ ...AT, UploadId, PartNumber, Body: partOf(PartNumber) }));
			sent(PartNumber);
		}
	}
	await Promise.all(Array.from({ length: TOGETHER }, sender));
}

async function hashAt(client: S3Client): Promise<string> {
	const hash = createHash("sha256");
	const { Body } = await client.send(new GetObjectCommand(AT));
	for await (const piece of Body as AsyncIterable<Buffer>) hash.update(piece);
	return hash.digest("hex");
}

const hashOf = (pieces: Iterable<string | Buffer>): string => {
	const hash = createHash("sha256");
	for (const piece of pieces) hash.update(piece);
	return hash.digest("hex");
};

it("D17, D59: kill -9 in an upload of 200 MB in parts: it goes on afterwards, and nothing is seen before its end", {
	timeout: 120_000,
}, async (test) => {
	const place = site(test);
	let service = await place.serve({ endpoints: { ep: { launcher: { type: "external" } } } });
	let client = await clientOf(service);
	await client.send(new PutObjectCommand({ ...AT, Body: BEFORE }));
	const UploadId = (await client.send(new CreateMultipartUploadCommand(AT))).UploadId!;
	const acknowledged = new Set<number>();
	let kill = Promise.resolve<unknown>(undefined);
	const killed = send(client, UploadId, numbers, (n) => {
		acknowledged.add(n);
		// The other parts are on their way.
		if (acknowledged.size === BEFORE_KILL) kill = service.end("SIGKILL");
	});
	await expect(killed).rejects.toThrow();
	await kill;

	service = await place.serve();
	client = await clientOf(service);
	expect(await hashAt(client)).toBe(hashOf([BEFORE]));
	const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: AT.Bucket }));
	expect(Contents).toMatchObject([{ Key: AT.Key, Size: BEFORE.length }]);
	const stored = await partsAt(client, UploadId);
	expect(stored.map(({ PartNumber }) => PartNumber)).toEqual(expect.arrayContaining([...acknowledged]));
	expect(new Set(stored.map(({ Size }) => Size))).toEqual(new Set([PART_BYTES]));
	const missing = numbers.filter((n) => !stored.some(({ PartNumber }) => PartNumber === n));
	expect(missing).not.toEqual([]);

	await send(client, UploadId, missing, () => {});
	const Parts = (await partsAt(client, UploadId)).map(({ PartNumber, ETag }) => ({ PartNumber, ETag }));
	await client.send(new CompleteMultipartUploadCommand({ ...AT, UploadId, MultipartUpload: { Parts } }));
	await service.end("SIGKILL");
	service = await place.serve();
	client = await clientOf(service);
	expect((await client.send(new HeadObjectCommand(AT))).ContentLength).toBe(PARTS * PART_BYTES);
	expect(await hashAt(client)).toBe(hashOf(numbers.map(partOf)));

	if (ON_POSTGRES) return;
	// What was being written when the service was killed has no row, and is removed when it is an hour old.
	const folder = join(place.folder.path, "sluice.db.files");
	expect(existsSync(folder)).toBe(true);
	await service.end("SIGKILL");
	const old = Date.now() / 1000 - 7200;
	for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
	service = await place.serve();
	await until("the sweep", () => readdirSync(folder).length === PARTS);
	client = await clientOf(service);
	expect((await client.send(new HeadObjectCommand(AT))).ContentLength).toBe(PARTS * PART_BYTES);
	expect(await service.end()).toBe(0);
});

async function partsAt(client: S3Client, UploadId: string): Promise<Part[]> {
	return (await client.send(new ListPartsCommand({ ...AT, UploadId }))).Parts ?? [];
}
