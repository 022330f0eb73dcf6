/**
 * Large payloads through the whole service: byte for byte, however the body is sent and wherever it
 * is cut (D5).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { request } from "../../support/transport.ts";
import { webhookReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";
import { begun, begunBy, handWorker, type HandWorker, submitted } from "../hand-worker.ts";

let service: TestService;
let receiver: WebhookReceiver;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		settings: { webhooks: { allowPrivateNetworks: true } },
	});
	receiver = await webhookReceiver();
	worker = await handWorker(service, "ep");
});
afterAll(async () => {
	await receiver.end();
	await service.end();
});

/**
 * A value of about this many bytes as no serializer prints it: white space, escapes, a name twice,
 * numbers beyond doubles, all lengths of characters.
 */
function valueOf(bytes: number): string {
	const item = '{ "é€😀" : 1.0 ,"\\u00e9":12345678901234567890,\t"a":"\\/\\"","a":"\\ud83d\\ude00" }';
	return `{"list":[${Array.from({ length: Math.ceil(bytes / Buffer.byteLength(item)) }, () => item).join(" ,\n")}]}`;
}

/** Posts a body without its length, in pieces of `size` bytes. */
function postChunked(path: string, body: Buffer, size: number): Promise<any> {
	return new Promise((resolve, reject) => {
		const req = request(
			service.url + path,
			{ method: "POST", headers: { authorization: KEY, "idempotency-key": `k-${size}` } },
			(res) => {
				let text = "";
				res
					.setEncoding("utf8")
					.on("data", (piece: string) => (text += piece))
					.on("end", () => resolve(JSON.parse(text)));
			},
		);
		req.on("error", reject);
		for (let at = 0; at < body.length; at += size) req.write(body.subarray(at, at + size));
		req.end();
	});
}

describe("D5: a large payload comes back byte for byte", () => {
	it.each([60_000, 66_000, 600_000, 5_000_000])(
		"of %i bytes: as the worker's input, in /runsync, /status, /v1 and the webhook",
		async (bytes) => {
			const value = valueOf(bytes);
			const hook = `/hook-${bytes}`;
			const { answer } = await begun(service.url, "/v2/ep/runsync", {
				text:
					`{"webhook":"${receiver.url}${hook}","input":${value}, "policy" : {"ttl":20000}, ` +
					`"ignored":"${"x".repeat(10_000)}"}`,
			});
			const { id, text } = (await worker.take())!;
			expect(text).toBe(`{"id":"${id}","input":${value}}`);
			await worker.done(id, `{"output": ${value} }`);
			const job = (await answer).text;
			expect(job.includes(`,"output":${value},"workerId":`)).toBe(true);
			expect((await call(service.url, `/v2/ep/status/${id}`)).text).toBe(job);
			const details = (await call(service.url, `/v1/endpoints/ep/jobs/${id}`)).text;
			expect(details.includes(`,"output":${value},`) && details.endsWith(`,"input":${value}}`)).toBe(true);
			const [delivered] = await receiver.arrived(1, hook);
			const expected = `${job.slice(0, -1)},"input":${value},"webhook":"${receiver.url}${hook}"}`;
			expect(delivered!.body.toString() === expected).toBe(true);
		},
	);

	it.each([1000, 40_000, 70_000])(
		"sent without a length in pieces of %i bytes; the same body under the same key is the same job (D14)",
		async (size) => {
			const value = valueOf(400_000);
			const body = Buffer.from(`{"input":${value}}`);
			const { id } = await postChunked("/v2/ep/run", body, size);
			expect(await postChunked("/v2/ep/run", body, size)).toMatchObject({ id });
			expect(await postChunked("/v2/ep/run", Buffer.concat([body, Buffer.from(" ")]), size)).toMatchObject({
				code: "idempotency_reused",
			});
			expect((await worker.takeThis(id)).text).toBe(`{"id":"${id}","input":${value}}`);
			await worker.done(id, {});
		},
	);

	it("for each of several callers that wait for the same job, however slowly they read", async () => {
		const value = valueOf(12_000_000);
		const id = await submitted(service, "ep");
		await worker.takeThis(id);
		const path = `/v2/ep/status-sync/${id}`;
		const slow = await begunBy(path, () => fetch(service.url + path, { headers: { authorization: KEY } }));
		const fast = await begun(service.url, path);
		await worker.done(id, `{"output":${value}}`);
		const expected = `,"output":${value},"workerId":`;
		expect((await fast.answer).text.includes(expected)).toBe(true);
		expect((await (await slow.answer).text()).includes(expected)).toBe(true);
	});

	it("of several jobs in one batch, with secrets beside them", async () => {
		const value = valueOf(200_000);
		const s3Config = {
			accessId: "a",
			accessSecret: "b",
			bucketName: "c",
			endpointUrl: "https://s3.example.com",
		};
		const first = await submitted(service, "ep", { input: { small: true } });
		const { json } = await call(service.url, "/v2/ep/run", {
			text: `{"input":${value},"s3Config":${JSON.stringify(s3Config)}}`,
		});
		const { text } = await call(service.url, `/worker/ep/job-take-batch/${worker.id}?batch_size=2&job_in_progress=0`, {
			headers: { authorization: worker.token },
		});
		expect(text).toBe(
			`[{"id":"${first}","input":{"small":true}},` +
				`{"id":"${json.id}","input":${value},"s3Config":${JSON.stringify(s3Config)}}]`,
		);
		for (const id of [first, json.id]) await worker.done(id, {});
	});

	it("D7: in the last of the server-sent events, its lines joined", async () => {
		// Nearly every edge of a block lies within a character.
		const value = `["a",\n${'"😀😀😀😀😀😀",\r\n'.repeat(60_000)}1]`;
		const id = await submitted(service, "ep");
		await worker.takeThis(id);
		await worker.done(id, `{"output":${value}}`);
		const stream = await fetch(`${service.url}/v2/ep/stream/${id}`, {
			headers: { authorization: KEY, accept: "text/event-stream" },
		});
		const text = await stream.text();
		const [event, ...lines] = text.trimEnd().split("\n");
		expect(event).toBe("event: end");
		expect(lines.every((line) => line.startsWith("data: "))).toBe(true);
		const { text: job } = await call(service.url, `/v2/ep/status/${id}`);
		expect(
			lines
				.map((line) => line.slice("data: ".length))
				.filter((line) => line !== "")
				.join("\n"),
		).toBe(job.replaceAll("\r\n", "\n"));
	});

	it("D32: as the body of an /openai request", async () => {
		const body = valueOf(300_000);
		const { answer } = await begun(service.url, "/v2/ep/openai/v1/completions", { text: body });
		const { id, text } = (await worker.take())!;
		expect(text).toBe(`{"id":"${id}","input":{"openai_route":"/v1/completions","openai_input":${body}}}`);
		await worker.done(id, `{"output":${body}}`);
		expect((await answer).text).toBe(body);
	});
});
