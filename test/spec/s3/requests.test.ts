/** Who may send which requests to the S3 face, and what becomes of objects with time (D59). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { AwsClient } from "aws4fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { objectsOfJob } from "../../../src/modules/s3/objects/objects.ts";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";
import { answerTo, clientOf, credentials } from "./s3-client.ts";

const clock = manualClock(Date.now());
let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, other: {}, kept: {} }, clock, pauseMs: Infinity });
});
afterAll(() => endWith(service, clock));

const HOUR = 3_600_000;
const Bucket = "b";
const now = (): Date => new Date(clock.wall());
const offset = () => ({ systemClockOffset: clock.wall() - Date.now() });
const put = (Key: string, endpoint = "ep", Body = "content") =>
	clientOf(service, endpoint, offset()).send(new PutObjectCommand({ Bucket, Key, Body }));
const linkTo = (Key: string, endpoint = "ep", expiresIn = 604_800) =>
	getSignedUrl(clientOf(service, endpoint), new GetObjectCommand({ Bucket, Key }), { expiresIn, signingDate: now() });

async function signedBy(keyId: string, secretAccessKey: string): Promise<[number, string | undefined]> {
	const client = new AwsClient({ accessKeyId: keyId, secretAccessKey, service: "s3", region: "eu-west-9" });
	const at = now()
		.toISOString()
		.replaceAll(/[-:]|\.\d{3}/g, "");
	const request = await client.sign(`${service.url}/s3/`, { aws: { datetime: at } });
	const { status, code } = await answerTo(request);
	return [status, code];
}

describe("credentials", () => {
	it("D59: of an endpoint, in any region, are those that an admin reads; others are refused", async () => {
		const { json } = await call(service.url, "/v1/endpoints/ep/s3");
		const { keyId, secretKey } = credentials(service, "ep");
		expect(json).toEqual({ endpointUrl: `${service.url}/s3`, accessKeyId: keyId, secretAccessKey: secretKey });
		expect(await signedBy(keyId, secretKey)).toEqual([200, undefined]);
		expect(await signedBy(keyId, credentials(service, "other").secretKey)).toEqual([403, "SignatureDoesNotMatch"]);
		for (const [endpoint, epoch] of [
			["ep", 2],
			["none", 1],
		] as const) {
			const { keyId: id, secretKey: secret } = credentials(service, endpoint, epoch);
			expect(await signedBy(id, secret)).toEqual([403, "InvalidAccessKeyId"]);
		}
		expect(await signedBy("AKIAIOSFODNN7EXAMPLE", "x")).toEqual([403, "InvalidAccessKeyId"]);
		expect((await answerTo(`${service.url}/s3/b/k`)).code).toBe("AccessDenied");
		const withKey = await call(service.url, "/s3/b/k").catch(() => undefined);
		expect(withKey?.status).not.toBe(200);
	});
});

describe("a client that waits for 100 Continue", () => {
	it("D59: is refused before it sends the body, or asked for it", async () => {
		const content = "x".repeat(100_000);
		const link = await getSignedUrl(clientOf(service, "ep"), new PutObjectCommand({ Bucket, Key: "waits" }), {
			signingDate: now(),
		});
		const { pathname, search } = new URL(link);
		const head = (path: string): string =>
			requestText({
				method: "PUT",
				path,
				headers: { Expect: "100-continue", "Content-Length": String(content.length), Host: new URL(service.url).host },
			});
		const refused = await rawConnection(service.url);
		refused.write(head(`${pathname}${search}x`));
		const answer = await refused.answer();
		expect([answer.status, answer.headers["connection"]]).toEqual([403, "close"]);
		refused.socket.destroy();
		const accepted = await rawConnection(service.url);
		accepted.write(head(pathname + search));
		expect((await accepted.answer({ head: true })).status).toBe(100);
		accepted.write(content);
		expect((await accepted.answer()).status).toBe(200);
		accepted.socket.destroy();
		expect((await answerTo(await linkTo("waits"))).text).toBe(content);
	});
});

describe("time", () => {
	it("D59: a link ends when it says, and a request is signed now", async () => {
		await put("timed");
		const link = await linkTo("timed", "ep", 60);
		expect((await answerTo(link)).text).toBe("content");
		await clock.leap(61_000);
		expect((await answerTo(link)).code).toBe("AccessDenied");
		const early = clientOf(service, "ep", { systemClockOffset: offset().systemClockOffset - 16 * 60_000 });
		const get = new GetObjectCommand({ Bucket, Key: "timed" });
		await expect(early.send(get)).rejects.toMatchObject({ name: "RequestTimeTooSkewed" });
	});

	it("D59: objects of a job are listed with links, and expire after 7 days with their bytes", async () => {
		await put("job-7/out.png", "kept", "picture");
		await put("job-8/out.png", "kept");
		const of = objectsOfJob(service.engine.kernel as never);
		const [found, ...others] = await of("kept", "job-7");
		expect(found).toMatchObject({ bucket: Bucket, key: "job-7/out.png", bytes: 7, url: expect.any(String) });
		expect(others).toEqual([]);
		expect((await answerTo(found!.url)).text).toBe("picture");
		const place = { endpoint: "kept", bucket: Bucket, key: "job-7/out.png", now: service.engine.now() };
		const [part] = (await service.engine.kernel.store.objects.find(place))!.parts;
		const { filesFolder, pieces } = service.engine.kernel.store;
		const hasBytes = async (): Promise<boolean> =>
			pieces
				? (await pieces.get({ file: part!.file, number: 0, into: new Uint8Array(0) })) !== undefined
				: existsSync(join(filesFolder!.path, part!.file));
		expect(await hasBytes()).toBe(true);
		await clock.leap(7 * 24 * HOUR);
		expect(await of("kept", "job-7")).toEqual([]);
		expect((await answerTo(await linkTo("job-7/out.png", "kept"))).code).toBe("NoSuchKey");
		await clock.leap(HOUR);
		await advanceUntil(clock, async () => !(await hasBytes()), 0);
	});
});
