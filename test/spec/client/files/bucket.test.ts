/** Files in a bucket of the operator (D61). */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { BUCKET, startBucket } from "../../../support/bucket.ts";
import { call, type Folder, folder, KEY, startService, type TestService } from "../../../support/service.ts";
import { ON_POSTGRES, storeIn } from "../../../support/service-store.ts";
import { tcpProxy } from "../../../support/tcp-proxy.ts";
import { untilFits } from "../../../support/until.ts";
import { rawConnection, requestText } from "../../raw-http.ts";
import { clientOf, contentOf, sendForm } from "./files-client.ts";

const MB = 2 ** 20;
let bucket: Awaited<ReturnType<typeof startBucket>>;
let service: TestService;
beforeAll(async () => {
	bucket = await startBucket();
});
beforeAll(async () => {
	service = await serviceWith(bucket.settings);
});
afterAll(async () => {
	await service?.end();
	await bucket?.end();
});
beforeEach(() => {
	bucket.refuse();
	bucket.asked.length = 0;
});

async function serviceWith(own: object | undefined, place?: Folder): Promise<TestService> {
	const settings = own && { settings: { files: { bucket: own } } };
	return await startService({ endpoints: { ep: {} }, ...settings, ...(place && { in: place }) });
}

async function stored(content: Buffer, to = service) {
	const file = await toFile(content, "a.bin");
	return await clientOf(to, "ep").files.create({ file, purpose: "user_data" });
}

const sent = (content: string) =>
	sendForm(service, [
		["purpose", "user_data"],
		["file", new File([content], "a.bin")],
	]);

async function ask(id: string, bytes: string): Promise<Response> {
	const headers = { authorization: `Bearer ${KEY}`, range: `bytes=${bytes}` };
	return await fetch(`${service.url}/v2/ep/openai/v1/files/${id}/content`, { headers });
}

async function range(id: string, bytes: string): Promise<Buffer> {
	const answer = await ask(id, bytes);
	expect(answer.status).toBe(206);
	return Buffer.from(await answer.arrayBuffer());
}

const keyOf = (id: string): string => `test/${service.engine.kernel.storeId}/${id}`;
const idsOf = async (at: TestService): Promise<string[]> =>
	(await Array.fromAsync(clientOf(at, "ep").files.list())).map(({ id }) => id);

describe("a file in a bucket", () => {
	it("D61: is one object by its id, of any size, read whole and in ranges; none of it is in the store", async () => {
		for (const bytes of [0, 1, 5 * MB, 6 * MB + 17]) {
			const content = randomBytes(bytes);
			const { id } = await stored(content);
			expect((await bucket.objects()).get(keyOf(id))).toBe(bytes);
			expect((await contentOf(clientOf(service, "ep"), id)).equals(content)).toBe(true);
			for (const [start, end] of bytes > MB
				? ([
						[0, 1],
						[5 * MB - 3, 5 * MB + 4],
						[bytes - 9, bytes],
					] as const)
				: [])
				expect((await range(id, `${start}-${end - 1}`)).equals(content.subarray(start, end))).toBe(true);
			await clientOf(service, "ep").files.delete(id);
			expect((await bucket.objects()).has(keyOf(id))).toBe(false);
		}
		const { filesFolder } = service.engine.kernel.store;
		if (filesFolder && existsSync(filesFolder.path)) expect(readdirSync(filesFolder.path)).toEqual([]);
	});

	it("D61: objects of the S3 API and files of other modules are there too", async () => {
		const files = service.engine.kernel.hooks.files!;
		const written = await files.write(
			(async function* () {
				for (let n = 0; n < 3; n += 1) yield Buffer.alloc(2 * MB, n);
			})(),
		);
		expect((await bucket.objects()).get(keyOf(written.id))).toBe(6 * MB);
		const reader = await files.open(written, { start: 2 * MB - 1, end: 2 * MB + 1 });
		expect(Buffer.concat(await Array.fromAsync(reader))).toEqual(Buffer.from([0, 1]));
		await reader.close();
		await written.drop();
		expect(await bucket.objects()).toEqual(new Map());
	});

	it("D61: an upload that its client gives up leaves neither object nor parts", async () => {
		const connection = await rawConnection(service.url);
		const headers = {
			Authorization: `Bearer ${KEY}`,
			"Content-Type": "multipart/form-data; boundary=b",
			"Content-Length": String(40 * MB),
		};
		connection.write(requestText({ method: "POST", path: "/v2/ep/openai/v1/files", headers }));
		connection.write(Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'));
		connection.write(Buffer.alloc(12 * MB));
		await untilFits(bucket.uploads, (uploads) => uploads === 1);
		connection.socket.destroy();
		await untilFits(bucket.uploads, (uploads) => uploads === 0);
		expect(await bucket.objects()).toEqual(new Map());
		expect(await idsOf(service)).toEqual([]);
	});
});

describe("a bucket that fails", () => {
	const PUT = `PUT /s3/${BUCKET}/test/`;

	it.each([
		[{ status: 403, code: "AccessDenied" }, "answered PUT with 403 AccessDenied", 1],
		[{ status: 404, code: "NoSuchBucket" }, "answered PUT with 404 NoSuchBucket", 1],
		[{ status: 507, code: "XMinioStorageFull" }, "answered PUT with 507 XMinioStorageFull", 1],
		[{ status: 503 }, "answered PUT with 503", 4],
	])(
		"D61: %o: the upload is 503 with the reason, in OpenAI's form, and there is no file",
		async (fault, why, tries) => {
			bucket.refuse((asked) => (asked.startsWith(PUT) ? fault : undefined));
			const { status, json } = await sent("x");
			expect(status).toBe(503);
			expect(json.error).toMatchObject({ code: "store_unavailable", message: expect.stringContaining(why) });
			expect(json.error.message).not.toContain(bucket.secret);
			expect(bucket.asked.filter((asked) => asked.startsWith(PUT))).toHaveLength(tries);
			bucket.refuse();
			expect(await idsOf(service)).toEqual([]);
			expect(await bucket.objects()).toEqual(new Map());
		},
	);

	it("D61: one that is slow to take a request gets it again, the last one of an upload too", async () => {
		const content = randomBytes(6 * MB);
		const faults = new Set(["uploads=", "partNumber=1", "partNumber=2", "POST uploadId"]);
		bucket.refuse((asked) => {
			const found = [...faults].find((each) => each.split(" ").every((part) => asked.includes(part)));
			if (found === undefined) return undefined;
			faults.delete(found);
			return found === "partNumber=2" ? "cut" : { status: 500, code: "InternalError" };
		});
		const { id } = await stored(content);
		expect(faults.size).toBe(0);
		expect((await contentOf(clientOf(service, "ep"), id)).equals(content)).toBe(true);
		await clientOf(service, "ep").files.delete(id);
	});

	it("D61: an upload whose completion fails, or is an error with the status 200, is no file", async () => {
		for (const status of [200, 403]) {
			bucket.refuse((asked) => (/^POST .*uploadId/.test(asked) ? { status, code: "InternalError" } : undefined));
			await expect(stored(Buffer.alloc(6 * MB))).rejects.toMatchObject({ status: 503 });
			bucket.refuse();
			expect([await idsOf(service), await bucket.objects(), await bucket.uploads()]).toEqual([[], new Map(), 0]);
		}
	});

	it("D61: a download whose connection breaks goes on where it was", async () => {
		const proxy = await tcpProxy(bucket.port);
		onTestFinished(() => proxy.close());
		const place = folder();
		const own = await serviceWith({ ...bucket.settings, url: `http://127.0.0.1:${proxy.port}/s3` }, place);
		onTestFinished(async () => {
			await own.end();
			place.remove();
		});
		const content = randomBytes(8 * MB);
		const { id } = await stored(content, own);
		const cut = proxy.cutAfter(3 * MB);
		expect((await contentOf(clientOf(own, "ep"), id)).equals(content)).toBe(true);
		await cut;
		proxy.refuse();
		proxy.cut();
		await expect(contentOf(clientOf(own, "ep"), id)).rejects.toMatchObject({
			status: 503,
			message: expect.stringContaining("does not answer: ECONNREFUSED"),
		});
	});

	it("D61: an object that is missing or cut off is 500 file_missing; a deletion that fails is repeated", async () => {
		const { id } = await stored(Buffer.alloc(10));
		bucket.refuse((asked) => (asked.startsWith("DELETE") ? { status: 403, code: "AccessDenied" } : undefined));
		await clientOf(service, "ep").files.delete(id);
		expect((await bucket.objects()).has(keyOf(id))).toBe(true);
		bucket.refuse((asked) => (asked.startsWith("GET") ? { status: 404, code: "NoSuchKey" } : undefined));
		const other = await stored(Buffer.alloc(10));
		await expect(contentOf(clientOf(service, "ep"), other.id)).rejects.toMatchObject({ code: "file_missing" });
		bucket.refuse();
		await bucket.client.send(new PutObjectCommand({ Bucket: BUCKET, Key: keyOf(other.id), Body: "short" }));
		for (const bytes of ["0-3", "8-9"])
			expect(await (await ask(other.id, bytes)).json()).toMatchObject({ error: { code: "file_missing" } });
		await clientOf(service, "ep").files.delete(other.id);
	});
});

describe("the place of files", () => {
	it("D61: files from before are read, new ones are in the bucket, and no other place is accepted", async () => {
		const place = folder();
		onTestFinished(() => place.remove());
		const begin = async <T>(own: object | undefined, use: (own: TestService) => Promise<T>): Promise<T> => {
			const started = await serviceWith(own, place);
			try {
				return await use(started);
			} finally {
				await started.end();
			}
		};
		const before = await begin(undefined, (own) => stored(Buffer.from("before"), own));
		const after = await begin(bucket.settings, async (own) => {
			const client = clientOf(own, "ep");
			expect(String(await contentOf(client, before.id))).toBe("before");
			const { id } = await stored(Buffer.from("after"), own);
			expect([...(await bucket.objects()).keys()].filter((key) => key.endsWith(id))).toHaveLength(1);
			await client.files.delete(before.id);
			return id;
		});
		await expect(serviceWith(undefined, place)).rejects.toThrow(/The store has 1 files, .* in the bucket http/);
		const other = { ...bucket.settings, prefix: "other/" };
		await expect(serviceWith(other, place)).rejects.toThrow(/their bytes are in the bucket http.*test\//);
		await begin(bucket.settings, async (own) => {
			expect(String(await contentOf(clientOf(own, "ep"), after))).toBe("after");
			await clientOf(own, "ep").files.delete(after);
		});
		await begin(undefined, async (own) => expect(await idsOf(own)).toEqual([]));
		await begin(other, async (own) => expect(await idsOf(own)).toEqual([]));
	});

	it("D61: a bucket that does not answer at the start is no reason not to start", async () => {
		bucket.refuse(() => ({ status: 403, code: "AccessDenied" }));
		const own = await serviceWith(bucket.settings);
		onTestFinished(() => own.end());
		await expect(stored(Buffer.alloc(1), own)).rejects.toMatchObject({ status: 503 });
		expect((await call(own.url, "/v2/ep/openai/v1/files")).status).toBe(200);
		bucket.refuse();
		const { id } = await stored(Buffer.from("x"), own);
		await clientOf(own, "ep").files.delete(id);
	});

	it.runIf(ON_POSTGRES)("D61: several servers share the bucket as they share the store", async () => {
		const place = folder();
		const first = await serviceWith(bucket.settings, place);
		onTestFinished(async () => {
			await first.end();
			place.remove();
		});
		const settings = { files: { bucket: bucket.settings } };
		const second = await startService({ endpoints: { ep: {} }, settings, env: (await storeIn(place.path)).env });
		onTestFinished(() => second.end());
		const { id } = await stored(Buffer.from("of the first"), first);
		expect(String(await contentOf(clientOf(second, "ep"), id))).toBe("of the first");
		await clientOf(second, "ep").files.delete(id);
		expect(await idsOf(first)).toEqual([]);
	});
});
