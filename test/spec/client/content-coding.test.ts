/** Compressed bodies of clients and workers, and a byte order mark before JSON (D3, D4, D19). */
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { handWorker } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";

const MB = 1024 * 1024;

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: { limits: "off" }, other: {} } });
});
afterAll(() => service.end());

const ENCODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
	gzip: gzipSync,
	"x-gzip": gzipSync,
	GZIP: gzipSync,
	br: brotliCompressSync,
	deflate: deflateSync,
	identity: (bytes) => bytes,
};

async function post(
	path: string,
	body: Uint8Array,
	encoding: string | undefined,
	authorization = KEY,
): Promise<{ status: number; json: any }> {
	const answer = await fetch(service.url + path, {
		method: "POST",
		headers: { authorization, ...(encoding !== undefined && { "content-encoding": encoding }) },
		body: new Uint8Array(body),
	});
	return { status: answer.status, json: await answer.json() };
}

async function inputOf(id: string): Promise<unknown> {
	return (await call(service.url, `/v1/endpoints/ep/jobs/${id}`)).json.input;
}

/** A text that compresses badly enough for any bound. */
const large = { text: Array.from({ length: 40_000 }, (_, n) => (n * 2_654_435_761) % 4_294_967_296).join(" ") };

describe("Content-Encoding of a body", () => {
	it.each(Object.keys(ENCODERS))("D3: %s is decoded", async (encoding) => {
		for (const input of [{ n: 1 }, large]) {
			const body = ENCODERS[encoding]!(Buffer.from(JSON.stringify({ input })));
			const { status, json } = await post("/v2/ep/run", body, encoding);
			expect([status, json.status], JSON.stringify(json)).toEqual([200, "IN_QUEUE"]);
			expect(await inputOf(json.id)).toEqual(input);
		}
	});

	it("D3: the bodies of /v1 too", async () => {
		const changed = await fetch(`${service.url}/v1/endpoints/other`, {
			method: "PATCH",
			headers: { authorization: KEY, "content-encoding": "gzip" },
			body: new Uint8Array(gzipSync('{"workersMax":2}')),
		});
		expect([changed.status, ((await changed.json()) as any).workersMax]).toEqual([200, 2]);
	});

	it("D3, D49: those of the management API too", async () => {
		const named = await post("/v2/account/secrets", gzipSync('{"name":"coded","value":"v"}'), "gzip");
		expect(named.status, JSON.stringify(named.json)).toBe(201);
	});

	it.each(["zstd", "compress", "gzip, br", "utf-8"])("D3: %s is 415 and names what is read", async (encoding) => {
		const { status, json } = await post("/v2/ep/run", zstdCompressSync('{"input":{}}'), encoding);
		expect([status, json.code]).toEqual([415, "unsupported_encoding"]);
		expect(json.error).toContain(`'${encoding}'`);
		expect(json.error).toContain("gzip, br, deflate");
	});

	it("D3: what is no gzip, is cut off or has more behind its end is 400, and the connection goes on", async () => {
		const whole = gzipSync(JSON.stringify({ input: large }));
		const connection = await rawConnection(service.url);
		for (const body of [
			Buffer.from('{"input":{}}'),
			whole.subarray(0, whole.length - 10),
			Buffer.concat([gzipSync('{"input":{}}'), Buffer.from("garbage")]),
		]) {
			const head = requestText({
				method: "POST",
				path: "/v2/ep/run",
				headers: { Authorization: KEY, "Content-Encoding": "gzip", "Content-Length": String(body.length) },
			});
			connection.write(Buffer.concat([Buffer.from(head), body]));
			const { status, text } = await connection.answer();
			expect([status, JSON.parse(text).code], text).toEqual([400, "bad_encoding"]);
		}
		connection.socket.destroy();
	});

	it("D3, spec 8: bytes count after decoding", async () => {
		const over = Buffer.from(JSON.stringify({ input: { text: large.text.repeat(30) } }));
		expect(over.length).toBeGreaterThan(10 * MB);
		const small = brotliCompressSync(over, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
		expect(small.length).toBeLessThan(10 * MB);
		const { status, json } = await post("/v2/ep/run", small, "br");
		expect([status, json.code]).toEqual([413, "body_too_large"]);
	});

	it("D3: what is over 200 times as large as it was sent is refused before it is large", async () => {
		const bomb = gzipSync(Buffer.alloc(400 * MB, " "));
		expect(bomb.length).toBeLessThan(MB);
		const { status, json } = await post("/v2/ep/run", bomb, "gzip");
		expect([status, json.code]).toEqual([400, "bad_encoding"]);
		expect(json.error).toContain("200 times");
	});

	it("D3: bytes without content count too", async () => {
		const empty = Buffer.alloc(5 * 2_200_000);
		for (let at = 0; at < empty.length; at += 5) empty.set([0, 0, 0, 0xff, 0xff], at);
		const stream = Buffer.concat([Buffer.from([0x78, 0x9c]), empty]);
		const answer = await fetch(`${service.url}/v2/ep/run`, {
			method: "POST",
			headers: { authorization: KEY, "content-encoding": "deflate" },
			body: new Blob([stream]).stream(),
			duplex: "half",
		});
		expect([answer.status, ((await answer.json()) as any).code]).toEqual([413, "body_too_large"]);
	});

	it("D14: the same content in another coding is the same submission", async () => {
		const text = Buffer.from('{"input":{"n":14}}');
		const ids = [];
		for (const [body, encoding] of [
			[text, "identity"],
			[gzipSync(text), "gzip"],
			[brotliCompressSync(text), "br"],
		] as const) {
			const answer = await fetch(`${service.url}/v2/ep/run`, {
				method: "POST",
				headers: { authorization: KEY, "content-encoding": encoding, "idempotency-key": "coded" },
				body: new Uint8Array(body),
			});
			ids.push(((await answer.json()) as any).id);
		}
		expect(new Set(ids).size).toBe(1);
	});
});

describe("results of workers", () => {
	async function reported(body: Uint8Array, encoding: string): Promise<any> {
		const worker = await handWorker(service, "other");
		const { json } = await call(service.url, "/v2/other/run", { body: { input: {} } });
		await worker.takeThis(json.id);
		const path = `/worker/other/job-done/${worker.id}/${json.id}?gpu=none&isStream=false`;
		const { status } = await post(path, body, encoding, worker.token);
		expect(status).toBe(200);
		return (await call(service.url, `/v2/other/status/${json.id}`)).json;
	}

	it.each(["gzip", "br", "deflate"])("D19: %s is decoded", async (encoding) => {
		const body = ENCODERS[encoding]!(Buffer.from('{"output":{"n":1}}'));
		expect(await reported(body, encoding)).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
	});

	it("D19: what cannot be decoded ends the job with the reason, since it is never refused", async () => {
		const other = await reported(zstdCompressSync('{"output":1}'), "zstd");
		expect(other.status).toBe("FAILED");
		expect(other.error).toContain("Content-Encoding 'zstd'");
		const damaged = await reported(Buffer.from('{"output":1}'), "gzip");
		expect(damaged.status).toBe("FAILED");
		expect(damaged.error).toContain("not valid gzip");
	});
});

describe("a byte order mark before JSON", () => {
	const MARK = Buffer.from("\ufeff");

	it("D4: is no part of the text, in whichever way it arrives", async () => {
		const text = Buffer.concat([MARK, Buffer.from('{"input":{"n":4}}')]);
		const { status, json } = await post("/v2/ep/run", text, undefined);
		expect(status, JSON.stringify(json)).toBe(200);
		expect(await inputOf(json.id)).toEqual({ n: 4 });
		expect((await post("/v2/ep/run", gzipSync(text), "gzip")).status).toBe(200);
		const connection = await rawConnection(service.url);
		const head = requestText({
			method: "POST",
			path: "/v2/ep/run",
			headers: { Authorization: KEY, "Content-Length": String(text.length) },
		});
		connection.write(Buffer.concat([Buffer.from(head), text.subarray(0, 2)]));
		connection.write(text.subarray(2));
		expect((await connection.answer()).status).toBe(200);
		connection.socket.destroy();
	});

	it("D4, D49: those of the management API too", async () => {
		const body = Buffer.concat([MARK, Buffer.from('{"name":"marked","value":"v"}')]);
		expect((await post("/v2/account/secrets", body, undefined)).status).toBe(201);
	});

	it("D4: /v1 and results of workers too", async () => {
		const changed = await call(service.url, "/v1/endpoints/other", { method: "PATCH", text: '\ufeff{"workersMax":3}' });
		expect(changed.status).toBe(200);
		const worker = await handWorker(service, "other");
		const { json } = await call(service.url, "/v2/other/run", { body: { input: {} } });
		await worker.takeThis(json.id);
		await worker.done(json.id, '\ufeff{"output":5}');
		expect((await call(service.url, `/v2/other/status/${json.id}`)).json).toMatchObject({ output: 5 });
	});

	it("D4: one alone is no JSON, and a second one neither", async () => {
		for (const body of ["\ufeff", '\ufeff\ufeff{"input":{}}'])
			expect((await post("/v2/ep/run", Buffer.from(body), undefined)).json.code).toBe("bad_json");
	});
});
