/** The addresses at which S3 clients reach the service (D59). */
import { GetObjectCommand, ListBucketsCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { type PathProxy, pathProxy } from "../../support/path-proxy.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { answerTo, clientOf, rawClientOf } from "./s3-client.ts";

let proxy: PathProxy;
let service: TestService;
beforeAll(async () => {
	const port = await freePort();
	proxy = await pathProxy({ to: `http://127.0.0.1:${port}`, path: "/api" });
	service = await startService({ endpoints: { ep: {} }, settings: { publicUrl: proxy.url }, port });
});
afterAll(async () => {
	proxy.close();
	await service.end();
});

const Bucket = "b";

describe("below a path of a proxy that removes it", () => {
	it("D59: requests and links of clients are right at both addresses", async () => {
		const { json } = await call(service.url, "/v1/endpoints/ep/s3");
		expect(json.endpointUrl).toBe(`${proxy.url}/s3`);
		for (const [Key, endpoint] of [
			["by proxy", json.endpointUrl as string],
			["direct", `${service.url}/s3`],
		] as const) {
			const client = clientOf(service, "ep", { endpoint });
			await client.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
			const link = await getSignedUrl(client, new GetObjectCommand({ Bucket, Key }));
			expect(await answerTo(link)).toMatchObject({ status: 200, text: Key });
		}
	});

	it("D60: links to files of a job are right there, and at the address of a console loaded directly", async () => {
		const put = new PutObjectCommand({ Bucket, Key: "job-1/é.txt", Body: "text" });
		await clientOf(service, "ep").send(put);
		const { json } = await call(service.url, "/v1/endpoints/ep/jobs/job-1/files");
		const { url } = json.files[0];
		expect(url.startsWith(`${proxy.url}/s3/`)).toBe(true);
		for (const link of [url, url.replace(proxy.url, service.url)])
			expect(await answerTo(link)).toMatchObject({ status: 200, text: "text" });
		expect((await answerTo(url.replace("%C3%A9", "e"))).code).toBe("SignatureDoesNotMatch");
	});
});

describe("at the root", () => {
	it("D59: a request that is signed in its header is for S3 and for no other route; a link is not", async (test) => {
		const plain = await startService({ endpoints: { ep: {} } });
		test.onTestFinished(() => plain.end());
		const client = clientOf(plain, "ep", { endpoint: plain.url });
		await client.send(new PutObjectCommand({ Bucket: "v1", Key: "keys", Body: "text" }));
		expect((await client.send(new ListBucketsCommand({}))).Buckets).toMatchObject([{ Name: "v1" }]);
		// As the AWS command line asks for buckets.
		expect((await rawClientOf(plain, "ep")("GET", "")).text).toContain("<Name>v1</Name>");
		const get = new GetObjectCommand({ Bucket: "v1", Key: "keys" });
		const { Body } = await clientOf(plain, "ep").send(get);
		expect(await Body!.transformToString()).toBe("text");
		expect((await answerTo(await getSignedUrl(client, get))).status).toBe(401);
		expect((await call(plain.url, "/v1/keys")).json).toHaveProperty("keys");
	});

	it("D59: none is taken where the service has a path: its signature could be that of two objects", async () => {
		const put = new PutObjectCommand({ Bucket, Key: "root", Body: "" });
		const sent = clientOf(service, "ep", { endpoint: service.url }).send(put);
		await expect(sent).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
	});
});
