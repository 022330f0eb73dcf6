/** Objects at two servers that share a PostgreSQL (D59): each answers for what the other one stored. */
import { randomBytes } from "node:crypto";
import {
	CompleteMultipartUploadCommand,
	CreateMultipartUploadCommand,
	GetObjectCommand,
	ListObjectsV2Command,
	PutObjectCommand,
	type S3Client,
	UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { clientOf } from "../spec/s3/s3-client.ts";
import { a, b, fresh, useTwoServers } from "./two-servers.ts";

useTwoServers();

const Bucket = "shared";
const CONTENT = randomBytes(2 * 2 ** 20 + 5);

async function bytesOf(client: S3Client, Key: string): Promise<Buffer> {
	const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
	return Buffer.from(await Body!.transformToByteArray());
}

it("D18, D59: parts that two servers received are one object at both", async () => {
	const endpoint = await fresh();
	const clients = [clientOf(a, endpoint), clientOf(b, endpoint)] as const;
	const { UploadId } = await clients[0].send(new CreateMultipartUploadCommand({ Bucket, Key: "k" }));
	const at = { Bucket, Key: "k", UploadId };
	const sent = await Promise.all(
		[1, 2, 3, 4].map((PartNumber) =>
			clients[PartNumber % 2]!.send(new UploadPartCommand({ ...at, PartNumber, Body: CONTENT })),
		),
	);
	const Parts = sent.map(({ ETag }, index) => ({ ETag, PartNumber: index + 1 }));
	await clients[1].send(new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } }));
	for (const client of clients)
		expect((await bytesOf(client, "k")).equals(Buffer.concat([CONTENT, CONTENT, CONTENT, CONTENT]))).toBe(true);
});

it("D18, D59: of writes of one key at both servers one stays, whole, and the totals are those of it", async () => {
	const endpoint = await fresh();
	const bodies = Array.from({ length: 8 }, (_, at) => Buffer.alloc(1000 + at, at));
	await Promise.all(
		bodies.map((Body, at) =>
			clientOf(at % 2 === 0 ? a : b, endpoint).send(new PutObjectCommand({ Bucket, Key: "same", Body })),
		),
	);
	const [one, other] = await Promise.all([a, b].map((server) => bytesOf(clientOf(server, endpoint), "same")));
	expect(one!.equals(other!)).toBe(true);
	expect(bodies.some((body) => body.equals(one!))).toBe(true);
	const totals = await a.engine.kernel.store.files.totals();
	expect(totals.find((each) => each.endpoint === endpoint)).toMatchObject({ files: 1, bytes: one!.length });
	const { Contents } = await clientOf(b, endpoint).send(new ListObjectsV2Command({ Bucket }));
	expect(Contents?.map(({ Size }) => Size)).toEqual([one!.length]);
});
