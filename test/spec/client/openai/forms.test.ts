/** /openai/* (D32): requests that are forms, and answers that are no JSON. */
import { describe, expect, it } from "vitest";
import { KEY, call } from "../../../support/service.ts";
import { rawConnection, requestText } from "../../raw-http.ts";
import { ask, expectOpenAIError } from "./answers.ts";
import { BODY, answered, ep, service, useCompletions, worker } from "./completions.ts";

useCompletions();

const AUDIO = Buffer.from("RIFF\0\r\n--x\xff", "latin1");
const TYPE = "multipart/form-data; boundary=b";

const at = (route = "audio/transcriptions"): string => `/v2/${ep}/openai/v1/${route}`;

/** Sends a form; the worker gets its job. */
async function sent(form: FormData, route?: string, prefix = "") {
	const answer = fetch(`${service.url}${prefix}${at(route)}`, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}` },
		body: form,
	});
	const job = (await worker.take())!;
	return { answer, job };
}

function formOf(...parts: readonly (readonly [string, string | File])[]): FormData {
	const form = new FormData();
	for (const [name, value] of parts) form.append(name, value);
	return form;
}

/** Sends the head of a request and the start of its body, and reads the answer. */
async function raw(
	headers: Record<string, string>,
	start = "",
): Promise<{ status: number; text: string; headers: any }> {
	const connection = await rawConnection(service.url);
	const head = { Authorization: `Bearer ${KEY}`, "Content-Type": TYPE, ...headers };
	connection.write(requestText({ method: "POST", path: at(), headers: head }) + start);
	const answer = await connection.answer();
	connection.socket.destroy();
	return answer;
}

describe("a form", () => {
	it("D32: is a job whose input has its fields as texts and its files in base64, in their order", async () => {
		const file = new File([AUDIO], "ä b.wav", { type: "audio/wav" });
		const form = formOf(
			["file", file],
			["model", "whisper-1"],
			["timestamp_granularities[]", "word"],
			["x", "1"],
			["x", "é"],
		);
		for (const prefix of ["", "/sdk"]) {
			const { answer, job } = await sent(form, undefined, prefix);
			expect(JSON.stringify(job.input)).toBe(
				JSON.stringify({
					openai_route: "/v1/audio/transcriptions",
					openai_content_type: "multipart/form-data",
					openai_input: {
						file: { name: "ä b.wav", type: "audio/wav", base64: AUDIO.toString("base64") },
						model: "whisper-1",
						"timestamp_granularities[]": ["word"],
						x: ["1", "é"],
					},
				}),
			);
			await worker.done(job.id, { output: [{ text: "hi" }] });
			const response = await answer;
			expect([response.status, await response.text()]).toEqual([200, '{"text":"hi"}']);
			expect(response.headers.get("x-request-id")).toBe(job.id);
		}
	});

	it("D32: may have files of megabytes, each byte of which reaches the worker", async () => {
		const large = Buffer.alloc(5_000_001, "0123456789abcdefg");
		const pictures = [large, large.subarray(7)].map((bytes) => ["image[]", new File([bytes], "a.png")] as const);
		const { answer, job } = await sent(formOf(...pictures), "images/edits");
		const { "image[]": images } = job.input.openai_input as { "image[]": { base64: string; type: string }[] };
		expect(images.map(({ type }) => type)).toEqual(["application/octet-stream", "application/octet-stream"]);
		expect(Buffer.from(images[0]!.base64, "base64").equals(large)).toBe(true);
		expect(Buffer.from(images[1]!.base64, "base64").equals(large.subarray(7))).toBe(true);
		await worker.done(job.id, { output: {} });
		expect((await answer).status).toBe(200);
	});

	it("D41: what it holds of the budget of memory is given back when its job is stored", async () => {
		const { memory } = service.engine.budgets;
		const { answer, job } = await sent(formOf(["file", new File([Buffer.alloc(3_000_000)], "a")]));
		await expect.poll(() => memory.used).toBe(0);
		await worker.done(job.id, { output: {} });
		await (await answer).text();
	});

	it("D32: streams with the field stream", async () => {
		const { answer, job } = await sent(formOf(["stream", "true"], ["file", new File(["x"], "a")]));
		await worker.chunk(job.id, { output: 'data: {"delta":"a"}\n\n' });
		const response = await answer;
		expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
		await worker.done(job.id, { output: [] });
		expect(await response.text()).toBe('data: {"delta":"a"}\n\ndata: [DONE]\n\n');
	});

	it("D3, D32: over 15 MiB it is 413 by its Content-Length, before any of it is sent", async () => {
		const answer = await raw({ "Content-Length": "15728641" });
		expect(expectOpenAIError(answer, 413, "body_too_large").message).toContain("15728641 bytes; at most 15728640");
		expect(answer.headers["connection"]).toBe("close");
	});

	it("D3, D32: garbage is 400 at once, though more of it is announced", async () => {
		for (const headers of [{ "Content-Length": "1000000" }, { "Transfer-Encoding": "chunked" }]) {
			const answer = await raw(headers, "Content-Length" in headers ? "GIF89a" : "6\r\nGIF89a\r\n");
			expect(expectOpenAIError(answer, 400, "bad_form").message).toContain("does not begin with the boundary");
			expect(answer.headers["connection"]).toBe("close");
		}
	});

	it("D3, D32: a part over its bound is 413 and names it", async () => {
		const form = formOf(["prompt", "x".repeat(1_048_577)]);
		const answer = await fetch(service.url + at(), {
			method: "POST",
			headers: { authorization: `Bearer ${KEY}` },
			body: form,
		});
		const error = expectOpenAIError(
			{ status: answer.status, text: await answer.text(), headers: answer.headers },
			413,
			"part_too_large",
		);
		expect(error.param).toBe("prompt");
	});

	it("D32: makes no job if its client disconnects within it, and holds no memory then", async () => {
		const { memory } = service.engine.budgets;
		const connection = await rawConnection(service.url);
		const head = { Authorization: `Bearer ${KEY}`, "Content-Type": TYPE, "Content-Length": "9000000" };
		const start = '--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n';
		connection.write(requestText({ method: "POST", path: at(), headers: head }) + start + "x".repeat(100_000));
		await expect.poll(() => memory.used).toBeGreaterThan(0);
		connection.reset();
		await expect.poll(() => memory.used).toBe(0);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs).toMatchObject({ inQueue: 0, inProgress: 0 });
	});
});

describe("an answer that is no JSON", () => {
	const file = (type: string, bytes: Buffer) => ({
		contentType: type,
		bytes: bytes.length,
		data: bytes.toString("base64"),
	});

	it("D32: is sent as its bytes with its content type, also in a list of one", async () => {
		const mp3 = Buffer.alloc(400_000, "\xff\xfb\x90", "latin1");
		for (const output of [file("audio/mpeg", mp3), [file("audio/mpeg", mp3)]]) {
			const asking = fetch(service.url + at("audio/speech"), {
				method: "POST",
				headers: { authorization: `Bearer ${KEY}` },
				body: JSON.stringify({ input: "hi" }),
			});
			const { id } = (await worker.take())!;
			await worker.done(id, { output });
			const answer = await asking;
			expect([answer.status, answer.headers.get("content-type"), answer.headers.get("x-request-id")]).toEqual([
				200,
				"audio/mpeg",
				id,
			]);
			expect(mp3.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
		}
	});

	it("D32: stays itself where the client asked for a stream and the server sent none", async () => {
		const asking = ask(service.url, at(), { ...BODY, stream: true });
		const { id } = (await worker.take())!;
		await worker.done(id, { output: [file("text/vtt", Buffer.from("WEBVTT\n"))] });
		const answer = await asking.answer;
		expect(answer.headers.get("content-type")).toBe("text/vtt");
		expect(await answer.rest()).toBe("WEBVTT\n");
	});
});

describe("the list of models", () => {
	it("D32: is known after the first answer, and needs no job then", async () => {
		const path = at("models");
		const list = '{"object":"list","data":[{"id":"m"}]}';
		const first = await answered(({ id }) => worker.done(id, `{"output":[${list}]}`), {}, path);
		expect([first.text, first.headers.get("age")]).toEqual([list, null]);
		const again = await call(service.url, path);
		expect(again).toMatchObject({ status: 200, text: list });
		expect(again.headers.get("content-type")).toBe("application/json");
		expect(again.headers.get("age")).toBe("0");
	});

	it("D32: is asked for again when the endpoint has another version, and an error is not kept", async () => {
		const path = at("models");
		const failed = await answered(({ id }) => worker.done(id, { error: "vLLM returned HTTP 404: {}" }), {}, path);
		expect(failed.status).toBe(404);
		const body = (n: number) => ({ output: [{ data: [n] }] });
		expect((await answered(({ id }) => worker.done(id, body(1)), {}, path)).json).toEqual({ data: [1] });
		await call(service.url, `/v1/endpoints/${ep}`, { method: "PATCH", body: { env: { MODEL: "2" } } });
		expect((await answered(({ id }) => worker.done(id, body(2)), {}, path)).json).toEqual({ data: [2] });
		expect((await call(service.url, path)).json).toEqual({ data: [2] });
	});
});
