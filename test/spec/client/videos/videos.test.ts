/** Videos (D62) with the official client: created, polled, listed, downloaded, remixed, deleted. */
import { type OpenAI, toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../support/free-port.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, folder, type Folder, KEY, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";

const REQUEST = { model: "wan", prompt: "A harbour at dawn", seconds: "4", size: "1280x720" } as const;
const MP4 = Buffer.concat([Buffer.from("\0\0\0\x18ftypmp42", "latin1"), Buffer.alloc(400_000, 7)]);
const PICTURE = Buffer.alloc(70_001, "\x89PNG\r\n", "latin1");
const dataUrl = (bytes: Buffer, type = "image/png"): string => `data:${type};base64,${bytes.toString("base64")}`;

const clock = manualClock();
const unused = endpointsByName(60, { limits: "off" });
let place: Folder;
let service: TestService;
let ep: string;
let client: OpenAI;
let worker: HandWorker;

beforeAll(async () => {
	place = folder();
	const port = await freePort();
	const settings = { publicUrl: `http://127.0.0.1:${port}` };
	const endpoints = { ...unused.settings, kept: { limits: "off", files: true } };
	service = await startService({ endpoints, settings, port, in: place, clock, pauseMs: Infinity });
});
beforeEach(() => use(unused.next()));
afterAll(async () => {
	await endWith(service, clock);
	place.remove();
});

async function use(endpoint: string): Promise<void> {
	ep = endpoint;
	client = clientOf(service, ep);
	worker = await handWorker(service, ep);
}

const jobOf = (video: string): string => video.slice("video_".length);
const path = (rest = ""): string => `/v2/${ep}/openai/v1/videos${rest}`;

/** A video whose job has ended with this report. */
async function ended(report: object, more: object = {}): Promise<string> {
	const { id } = await client.videos.create({ ...REQUEST, ...more } as OpenAI.VideoCreateParams);
	await worker.takeThis(jobOf(id));
	await worker.done(jobOf(id), report);
	return id;
}

const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());

describe("a video", () => {
	it("D62: is a job with an id of its own, polled until its worker has answered", async () => {
		const { data: video, response } = await client.videos.create(REQUEST).withResponse();
		expect(video).toEqual({
			...{ id: expect.stringMatching(/^video_[0-9a-f-]{36}$/), object: "video", status: "queued", progress: 0 },
			...{ created_at: Math.floor(clock.now() / 1000), completed_at: null, expires_at: null },
			...{ remixed_from_video_id: null, error: null },
			...REQUEST,
		});
		expect(response.headers.get("openai-poll-after-ms")).toBe("2000");
		expect(response.headers.get("x-request-id")).toBe(jobOf(video.id));
		const job = await worker.takeThis(jobOf(video.id));
		expect(job.input).toEqual({
			openai_route: "/v1/videos",
			openai_video: { request: expect.stringMatching(/^[0-9a-f]{64}$/) },
			openai_input: REQUEST,
		});
		await clock.advance(5000);
		await worker.done(job.id, { output: { video_url: "https://cdn.example/a.mp4" } });
		const done = await client.videos.retrieve(video.id);
		const at = Math.floor(clock.now() / 1000);
		expect(done).toEqual({
			...video,
			...{ status: "completed", progress: 100, completed_at: at, expires_at: at + 86_400 },
		});
		const { status } = (await call(service.url, `/v2/${ep}/status/${job.id}`)).json;
		expect(status).toBe("COMPLETED");
	});

	it.each([
		[0.305, 30],
		[42, 42],
		[100, 99],
		[{ progress: 0.5 }, 50],
		[{ percent: 0.5 }, 0],
		[{ percent: 12.7 }, 12],
		["half", 0],
	])("D62: progress of %j is %j", async (value, progress) => {
		const { id } = await client.videos.create(REQUEST);
		await worker.takeThis(jobOf(id));
		await worker.done(jobOf(id), { status: "IN_PROGRESS", output: value });
		expect(await client.videos.retrieve(id)).toMatchObject({ status: "in_progress", progress });
	});

	it("D62: waits longer than 5 minutes for a worker, and goes on without its client", async () => {
		const { id } = await client.videos.create(REQUEST);
		await clock.leap(3_600_000);
		await worker.takeThis(jobOf(id));
		expect(await client.videos.retrieve(id)).toMatchObject({ status: "in_progress" });
	});

	it("D62: is 404 when its result has expired, and as a background response", async () => {
		const id = await ended({ output: { url: "https://cdn.example/a.mp4" } });
		await expect(client.responses.retrieve(`resp_${jobOf(id)}`)).rejects.toMatchObject({ status: 404 });
		await clock.leap(86_400_000);
		await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404, code: "video_not_found" });
		const { json } = await call(service.url, `/v2/${ep}/run`, { body: { input: { openai_video: { request: "x" } } } });
		await expect(client.videos.retrieve(`video_${json.id}`)).rejects.toMatchObject({ status: 404 });
		expect((await client.videos.list()).data).toEqual([]);
	});

	it.each([
		[{ error: "out of memory" }, "worker_failed", "out of memory"],
		[{ error: 'vLLM returned HTTP 400: {"error":{"message":"bad size","code":"bad_size"}}' }, "bad_size", "bad size"],
		[{ output: [{ error: { message: "no such model", code: 404 } }] }, "404", "no such model"],
	])("D62: that fails with %j is answered with 200", async (report, code, message) => {
		const id = await ended(report);
		expect(await client.videos.retrieve(id)).toMatchObject({ status: "failed", error: { code, message }, progress: 0 });
		await expect(client.videos.downloadContent(id)).rejects.toMatchObject({ status: 404, code: "variant_not_found" });
	});

	it("D62: that was cancelled, or took too long, has failed", async () => {
		const { id } = await client.videos.create(REQUEST);
		await call(service.url, `/v2/${ep}/cancel/${jobOf(id)}`, { method: "POST" });
		expect(await client.videos.retrieve(id)).toMatchObject({ status: "failed", error: { code: "cancelled" } });
		const { id: late } = await client.videos.create(REQUEST);
		await clock.leap(86_400_001);
		expect(await client.videos.retrieve(late)).toMatchObject({ status: "failed", error: { code: "request_timeout" } });
	});

	it("D62: is deleted, and cancelled while it runs", async () => {
		const { id } = await client.videos.create(REQUEST);
		await worker.takeThis(jobOf(id));
		expect(await client.videos.delete(id)).toEqual({ id, object: "video.deleted", deleted: true });
		await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404 });
		await expect(client.videos.delete(id)).rejects.toMatchObject({ status: 404 });
		const record = (await call(service.url, `/v1/endpoints/${ep}/jobs/${jobOf(id)}`)).json;
		expect(record).toMatchObject({ id: jobOf(id), status: "CANCELLED" });
	});
});

describe("a request", () => {
	it("D62: may be JSON, which stays byte for byte", async () => {
		const text = `{ "prompt":"\\u00e9", "seed":12345678901234567890,"size":null,"seconds":8.0}`;
		const { json } = await call(service.url, path(), { text });
		expect(json).toMatchObject({ prompt: "é", model: null, size: null, seconds: "8" });
		expect((await worker.takeThis(jobOf(json.id))).text).toContain(`"openai_input":${text}`);
	});

	it("D62: that is a form may have its file first, and nested fields", async () => {
		const form = new FormData();
		form.append("input_reference", new File([PICTURE], "a.png", { type: "image/png" }));
		for (const [name, value] of [
			...[["prompt", "x"] as const, ["__proto__[a]", "1"] as const],
			...(["a", "b"] as const).map((each) => ["extra_params[tags][]", each] as const),
			...[["extra_params[cfg][scale]", "2"] as const, ["lora", "1"] as const, ["lora", "2"] as const],
		])
			form.append(name, value);
		const headers = { authorization: `Bearer ${KEY}` };
		const answer = await fetch(service.url + path(), { method: "POST", headers, body: form });
		const { id } = (await answer.json()) as { id: string };
		const { text } = await worker.takeThis(jobOf(id));
		const { openai_input: input } = JSON.parse(text).input;
		expect(JSON.stringify(input)).toBe(
			JSON.stringify(
				JSON.parse(
					`{"prompt":"x","__proto__":{"a":"1"},"extra_params":{"tags":["a","b"],"cfg":{"scale":"2"}},` +
						`"lora":["1","2"],"input_reference":{"image_url":"${dataUrl(PICTURE)}"}}`,
				),
			),
		);
	});

	it("D62: has a picture that was uploaded, or is a link", async () => {
		const { id: file } = await client.files.create({ file: await toFile(PICTURE, "a.png"), purpose: "vision" });
		const { id } = await client.videos.create({ ...REQUEST, input_reference: { file_id: file } });
		const { input } = await worker.takeThis(jobOf(id));
		expect(input.openai_input).toEqual({ ...REQUEST, input_reference: { image_url: dataUrl(PICTURE) } });
		const link = { image_url: "https://cdn.example/a.png" };
		const { id: other } = await client.videos.create({ ...REQUEST, input_reference: link });
		expect((await worker.take({ busy: true }))!.input.openai_input.input_reference).toEqual(link);
		expect(await client.videos.retrieve(other)).toMatchObject({ status: "in_progress" });
	});

	it("D62: repeats itself, and makes one video", async () => {
		const post = (repeat: number, more: object = {}, headers: object = {}) =>
			call(service.url, path(), {
				body: { ...REQUEST, ...more },
				headers: { "x-stainless-retry-count": String(repeat), ...headers },
			});
		const first = (await post(0)).json.id;
		expect((await post(1)).json.id).toBe(first);
		expect((await post(2)).json.id).toBe(first);
		const others = [(await post(0)).json.id, (await post(1, { prompt: "Another" })).json.id];
		const keyed = { "idempotency-key": "k" };
		others.push((await post(0, {}, keyed)).json.id);
		expect((await post(0, {}, keyed)).json.id).toBe(others.at(-1));
		expect((await post(0, { prompt: "x" }, keyed)).json.error.code).toBe("idempotency_reused");
		expect(new Set([first, ...others]).size).toBe(4);
		await clock.leap(600_001);
		expect([first, ...others]).not.toContain((await post(1)).json.id);
	});

	it.each([
		[{}, "prompt", "must be a text of 1 to 32000 characters."],
		[{ prompt: "a".repeat(32_001) }, "prompt", "must be a text of 1 to 32000 characters."],
		[{ prompt: "x", size: [1] }, "size", "must be a text of at most 256 characters."],
		[{ prompt: "x", input_reference: "a.png" }, "input_reference", "image_url, which is an http, https or data: URL."],
		[{ prompt: "x", input_reference: { file_id: "file-1" } }, "input_reference.file_id", "is unknown"],
		[{ prompt: "x", input_reference: { image_url: "file:///etc/passwd" } }, "input_reference", "data: URL"],
	])("D62, D2: %# is 400 in OpenAI's form", async (body, param, message) => {
		const { status, json } = await call(service.url, path(), { body });
		expect({ status, ...json }).toMatchObject({ status: 400, error: { type: "invalid_request_error", param } });
		expect(json.error.message).toContain(message);
	});

	it.each([
		[["input_reference"], "'video' is a file", new File(["x"], "a.mp4")],
		[["a", "a[b]"], "'a' is both a value and an object", "x"],
		[["a[b]", "a"], "'a' is both a value and an object", "x"],
		[[`a${"[b]".repeat(8)}`], "has over 7 brackets", "x"],
	])("D62, D2: a form with %j is 400", async (names, message, value) => {
		const form = new FormData();
		for (const name of names) form.append(name, "x");
		if (typeof value !== "string") form.append("video", value);
		const headers = { authorization: `Bearer ${KEY}` };
		const answer = await fetch(service.url + path(), { method: "POST", headers, body: form });
		const { error } = (await answer.json()) as { error: { message: string } };
		expect(answer.status).toBe(400);
		expect(error.message).toContain(message);
	});

	it("D62: for edits, extensions and characters is 501", async () => {
		const video = { id: "video_1" };
		const refused = { status: 501, code: "videos_not_supported" };
		await expect(client.videos.edit({ prompt: "x", video })).rejects.toMatchObject(refused);
		await expect(client.videos.extend({ prompt: "x", seconds: "4", video })).rejects.toMatchObject(refused);
		await expect(client.videos.createCharacter({ name: "a", video: await toFile(MP4, "a.mp4") })).rejects.toMatchObject(
			refused,
		);
		await expect(client.videos.getCharacter("char_1")).rejects.toMatchObject(refused);
	});
});

describe("the list", () => {
	it("D62: has the videos only, page by page, the newest first", async () => {
		const ids: string[] = [];
		for (let at = 0; at < 5; at += 1) {
			ids.unshift((await client.videos.create({ ...REQUEST, prompt: `n${at}` })).id);
			await call(service.url, `/v2/${ep}/run`, { body: { input: { openai_video: { request: "x" }, at } } });
			if (at % 2 === 0) await clock.advance(10);
		}
		const page = await client.videos.list({ limit: 2 });
		expect(page.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
		expect(page).toMatchObject({ has_more: true, last_id: ids[1] });
		const all: string[] = [];
		for await (const { id } of client.videos.list({ limit: 2 })) all.push(id);
		expect(all).toEqual(ids);
		expect(await client.videos.list({ limit: 5 })).toMatchObject({ has_more: false });
		expect((await client.videos.list({ limit: 0 })).data).toEqual([]);
		await expect(client.videos.list({ after: "video_1" })).rejects.toMatchObject({ status: 400, param: "after" });
		await expect(client.videos.list({ order: "asc" })).rejects.toMatchObject({ status: 400, param: "order" });
	});
});

describe("the content", () => {
	it.each([
		["a file", { contentType: "video/webm", bytes: MP4.length, data: MP4.toString("base64") }, "video/webm"],
		["base64", { b64_json: MP4.toString("base64") }, "video/mp4"],
		["a data: URL", { video: dataUrl(MP4, "video/webm"), seed: 1 }, "video/webm"],
		["base64 in a list of one", [{ video: MP4.toString("base64") }], "video/mp4"],
	])("D62: of %s in the result is answered as bytes", async (_, output, type) => {
		const id = await ended({ output });
		const answer = await client.videos.downloadContent(id);
		expect(answer.headers.get("content-type")).toBe(type);
		expect((await bytesOf(answer)).equals(MP4)).toBe(true);
	});

	it.each([
		["url", { url: "https://cdn.example/a%20b.mp4?x=1" }],
		["video_url", { video_url: "https:\\/\\/cdn.example/a%20b.mp4?x=1" }],
		["result", { result: "https://cdn.example/a%20b.mp4?x=1", url: null }],
		["the result itself", "https://cdn.example/a%20b.mp4?x=1"],
	])("D62: of a link as %s is 302, and not fetched", async (_, output) => {
		const id = await ended({ output });
		const headers = { authorization: `Bearer ${KEY}` };
		const answer = await fetch(service.url + path(`/${id}/content`), { headers, redirect: "manual" });
		expect([answer.status, answer.headers.get("location")]).toEqual([302, "https://cdn.example/a%20b.mp4?x=1"]);
	});

	it("D62: other variants are those that the worker gave", async () => {
		const id = await ended({ output: { url: "https://cdn.example/a.mp4", thumbnail_url: dataUrl(PICTURE) } });
		const thumbnail = await client.videos.downloadContent(id, { variant: "thumbnail" });
		expect((await bytesOf(thumbnail)).equals(PICTURE)).toBe(true);
		const missing = { status: 404, code: "variant_not_found" };
		await expect(client.videos.downloadContent(id, { variant: "spritesheet" })).rejects.toMatchObject(missing);
		const neither = await ended({ output: { frames: 3, url: "not base64!" } });
		await expect(client.videos.downloadContent(neither)).rejects.toMatchObject(missing);
		const { id: queued } = await client.videos.create(REQUEST);
		await expect(client.videos.downloadContent(queued)).rejects.toMatchObject(missing);
	});

	it("D62: in a bucket of the endpoint is sent with ranges, and goes with the video", async () => {
		await use("kept");
		const picture = await toFile(PICTURE, "a.png", { type: "image/png" });
		const { id } = await client.videos.create({ ...REQUEST, input_reference: picture });
		const { input } = await worker.takeThis(jobOf(id));
		const { image_url: link } = input.openai_input.input_reference;
		expect(link).toMatch(new RegExp(`^${service.url}/s3/answers/${jobOf(id)}/input_reference\\?`));
		expect((await bytesOf(await fetch(link))).equals(PICTURE)).toBe(true);
		await worker.done(jobOf(id), { output: { url: link } });
		const content = (headers: object = {}) =>
			fetch(service.url + path(`/${id}/content`), { headers: { authorization: `Bearer ${KEY}`, ...headers } });
		expect((await bytesOf(await content())).equals(PICTURE)).toBe(true);
		const part = await content({ range: "bytes=10-19" });
		expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 10-19/${PICTURE.length}`]);
		expect((await bytesOf(part)).equals(PICTURE.subarray(10, 20))).toBe(true);
		const none = await content({ range: "bytes=99999999-" });
		expect([none.status, ((await none.json()) as any).error.code]).toEqual([416, "s3_range"]);
		const { json } = await call(service.url, `/v1/endpoints/${ep}/jobs/${jobOf(id)}/files`);
		expect(json.files).toMatchObject([{ bucket: "answers", name: "input_reference" }]);
		await client.videos.delete(id);
		expect((await fetch(link)).status).toBe(404);
	});
});

describe("a remix", () => {
	it("D62: is the request of its source with another prompt, and the link", async () => {
		const url = "https://cdn.example/a.mp4";
		const picture = await toFile(PICTURE, "a.png", { type: "image/png" });
		const source = await ended({ output: { url } }, { input_reference: picture });
		const video = await client.videos.remix(source, { prompt: "At night" });
		expect(video).toMatchObject({ ...REQUEST, prompt: "At night", status: "queued", remixed_from_video_id: source });
		const { input } = await worker.takeThis(jobOf(video.id));
		expect(input).toMatchObject({
			openai_route: `/v1/videos/${source}/remix`,
			openai_input: { ...REQUEST, prompt: "At night", video_url: url },
		});
		expect(input.openai_input).not.toHaveProperty("input_reference");
	});

	it("D62, D2: needs a completed video with a link", async () => {
		const { id: queued } = await client.videos.create(REQUEST);
		const refused = { status: 400, param: "video" };
		await expect(client.videos.remix(queued, { prompt: "x" })).rejects.toMatchObject(refused);
		await client.videos.delete(queued);
		const id = await ended({ output: { b64_json: MP4.toString("base64") } });
		await expect(client.videos.remix(id, { prompt: "x" })).rejects.toMatchObject(refused);
		await expect(client.videos.remix(id, { prompt: "" })).rejects.toMatchObject({ status: 400, param: "prompt" });
		await expect(client.videos.remix("video_1", { prompt: "x" })).rejects.toMatchObject({ status: 404 });
	});
});
