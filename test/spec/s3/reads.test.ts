/** Reads of objects with conditions, and links that someone has changed (D59). */
import { CopyObjectCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { requestText, rawConnection } from "../raw-http.ts";
import { answerTo, clientOf, credentials, rawClientOf } from "./s3-client.ts";

let service: TestService;
let send: ReturnType<typeof rawClientOf>;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, other: {} } });
	send = rawClientOf(service, "ep");
	const headers = { "content-type": "text/plain", "cache-control": "max-age=9" };
	await send("PUT", "/b/k", { body: "0123456789", headers });
});
afterAll(() => service.end());

const Bucket = "b";
const linkTo = (Key = "k") => getSignedUrl(clientOf(service, "ep"), new GetObjectCommand({ Bucket, Key }));

it("D59: only an admin key reads credentials", async () => {
	for (const [scopes, status] of [
		[["admin"], 200],
		[["read", "write"], 401],
	] as const) {
		const { json } = await call(service.url, "/v1/keys", { body: { name: scopes[0], scopes } });
		expect((await call(service.url, "/v1/endpoints/ep/s3", { key: json.key })).status).toBe(status);
	}
});

describe("a read", () => {
	it("D59: that is 304 has the headers of the object, and no length of another body", async () => {
		const whole = await send("GET", "/b/k");
		const etag = whole.headers.get("etag")!;
		const unchanged = await send("GET", "/b/k", { headers: { "if-none-match": etag } });
		expect([unchanged.status, unchanged.text]).toEqual([304, ""]);
		for (const name of ["etag", "last-modified", "cache-control", "content-security-policy"])
			expect(unchanged.headers.get(name)).toBe(whole.headers.get(name));
		expect(unchanged.headers.get("content-length")).toBeNull();
		const modified = { "if-modified-since": whole.headers.get("last-modified")! };
		expect((await send("GET", "/b/k", { headers: modified })).status).toBe(304);
		const before = { "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT" };
		expect((await send("GET", "/b/k", { headers: before })).code).toBe("PreconditionFailed");
		expect((await send("GET", "/b/k", { headers: { "if-unmodified-since": "no date" } })).status).toBe(200);
	});

	it("D59: that goes on with a part of an earlier object gets the whole one", async () => {
		const { headers } = await send("GET", "/b/k");
		const range = { range: "bytes=4-5" };
		for (const [condition, status, text] of [
			[headers.get("etag")!, 206, "45"],
			[headers.get("last-modified")!, 206, "45"],
			['"other"', 200, "0123456789"],
			["Thu, 01 Jan 1970 00:00:00 GMT", 200, "0123456789"],
		] as const) {
			const answer = await send("GET", "/b/k", { headers: { ...range, "if-range": condition } });
			expect([condition, answer.status, answer.text]).toEqual([condition, status, text]);
		}
	});

	it("D59: by HEAD has the status and headers of the GET", async () => {
		for (const headers of [{}, { range: "bytes=2-" }, { range: "bytes=10-" }, { "if-match": '"x"' }]) {
			const [get, head] = [await send("GET", "/b/k", { headers }), await send("HEAD", "/b/k", { headers })];
			expect(head.text).toBe("");
			const shown = ({ status, headers: all }: typeof get) => [
				status,
				[...all].filter(([name]) => !/^(?:date|x-.*request-id|connection|keep-alive)$/.test(name)),
			];
			expect(shown(head)).toEqual(shown(get));
		}
	});
});

describe("a link", () => {
	it("D59: that someone has changed is refused", async () => {
		const link = await linkTo();
		const otherId = encodeURIComponent(credentials(service, "other").keyId);
		const ownId = encodeURIComponent(credentials(service, "ep").keyId);
		for (const [changed, code] of [
			[`${link}&X-Amz-Expires=604800`, "SignatureDoesNotMatch"],
			[`${link}&response-content-type=text%2Fhtml`, "SignatureDoesNotMatch"],
			[`${link}&acl`, "SignatureDoesNotMatch"],
			[link.replace("/b/k", "/b//k"), "SignatureDoesNotMatch"],
			[link.replace("/b/k", "/b%2Fk"), "SignatureDoesNotMatch"],
			[link.replace("/b/k", "/b/./k"), undefined],
			[link.replace(ownId, otherId), "SignatureDoesNotMatch"],
			[link.replace("X-Amz-Signature=", "X-Amz-Signature=0"), "AuthorizationQueryParametersError"],
		] as const) {
			const answer = await answerTo(changed);
			// The client itself takes /./ out of the path.
			expect([changed, answer.code]).toEqual([changed, code]);
		}
		for (const name of ["x-amz-copy-source", "x-amz-acl", "x-amz-content-sha256"])
			expect((await answerTo(link, { headers: { [name]: "b/k" } })).code).toBe("AccessDenied");
		for (const method of ["PUT", "DELETE", "POST"])
			expect((await answerTo(link, { method })).code).toBe("SignatureDoesNotMatch");
		expect((await answerTo(link)).text).toBe("0123456789");
	});

	it("D59: is not one to another object whose path is folded to its own", async () => {
		const link = new URL(await linkTo());
		const asked = await rawConnection(service.url);
		const headers = { Host: link.host };
		asked.write(requestText({ method: "GET", path: `/s3/b/x/../k${link.search}`, headers }));
		expect((await asked.answer()).status).toBe(403);
		asked.socket.destroy();
	});
});

describe("a key", () => {
	it("D59: has 1,024 bytes of UTF-8 at most, no NUL, and is decoded once", async () => {
		const client = clientOf(service, "ep");
		const put = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
		await put("é".repeat(512));
		await expect(put("é".repeat(512) + "x")).rejects.toMatchObject({ name: "KeyTooLongError" });
		expect((await send("PUT", "/b/a%00b", { body: "" })).code).toBe("InvalidArgument");
		expect((await send("GET", "/b?prefix=%00")).status).toBe(200);
		expect((await send("GET", "/b?prefix=%ff")).code).toBe("InvalidURI");
		await put("a%2Fb+c d");
		const CopySource = encodeURIComponent(`${Bucket}/a%2Fb+c d`);
		await client.send(new CopyObjectCommand({ Bucket, Key: "copy", CopySource }));
		expect((await send("GET", "/b/copy")).text).toBe("a%2Fb+c d");
		expect((await send("GET", "/b/a/b%2Bc%20d")).code).toBe("NoSuchKey");
		expect((await send("PUT", "/b/k (1)!*'.png", { body: "" })).status).toBe(200);
	});
});
