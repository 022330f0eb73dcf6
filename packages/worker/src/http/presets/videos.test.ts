/** What the preset of vLLM-Omni sends, and makes of the answers and failures that its server is known for. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { closeServers, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import { type Answer, runPreset, sends, sendsBody } from "../../../../../test/support/worker-kit/preset-server.ts";
import { JobReturn } from "../../job-return.ts";
import { spool } from "../exchange/spool.ts";
import { JobFailure } from "../job-failure.ts";
import { storeAnswer } from "../job/store-answer.ts";

afterEach(closeServers);

const MP4 = Buffer.from("\0\0\0\x18ftypmp42\xff", "latin1");
const FILM = { contentType: "video/mp4", bytes: MP4.length, data: MP4.toString("base64") };
const video = (status: string, more: object = {}) => ({ id: "v1", object: "video", status, progress: 0, ...more });
const POLL = "GET /v1/videos/v1";

/** A server whose polls answer with these states, the last one for good. */
function table(...states: Answer[]): Record<string, Answer> {
	return {
		"POST /v1/videos": sends(video("queued")),
		[POLL]: (response, request) => (states.length > 1 ? states.shift()! : states[0]!)(response, request),
		"GET /v1/videos/v1/content": sendsBody(MP4, "video/mp4"),
	};
}

const run = (input: unknown, answers: Readonly<Record<string, Answer>>) =>
	runPreset("vllm-omni", input, answers, { async: { everyMs: 10 } });

const input = { prompt: "a {input.seed}", size: "832x480", seed: 7, lora: { name: "x" }, fps: null };

it("sends a form, polls, and the bytes are the output", async () => {
	const { output, paths, bodies } = await run(input, table(sends(video("in_progress")), sends(video("completed"))));
	expect(output).toEqual(FILM);
	expect(paths).toEqual(["POST /v1/videos", POLL, POLL, "GET /v1/videos/v1/content"]);
	const field = (name: string, value: string) => `name="${name}"\r\n\r\n${value}\r\n`;
	for (const [name, value] of Object.entries({ ...input, seed: "7", lora: '{"name":"x"}' }))
		if (value !== null) expect(bodies[0]).toContain(field(name, String(value)));
	expect(bodies[0]).not.toContain("fps");
});

it("gets the request of OpenAI's /videos as its input, with the picture as a file, and no other route", async () => {
	const picture = { image_url: "data:image/png;base64,iVBORw==" };
	const openai_input = { prompt: "a", input_reference: picture };
	const given = { openai_route: "/v1/videos", openai_video: { request: "x" }, openai_input };
	const { output, bodies } = await run(given, table(sends(video("completed"))));
	expect(output).toEqual(FILM);
	expect(bodies[0]).toContain('name="input_reference"; filename="input_reference"\r\nContent-Type: image/png\r\n\r\n');
	expect(bodies[0]).not.toMatch(/openai_|image_url/);
	const remix = await run({ ...given, openai_route: "/v1/videos/video_1/remix" }, {});
	expect(remix.output).toEqual({ error: expect.stringContaining("is not a route of this endpoint's server") });
	expect(remix.paths).toEqual([]);
});

it("fails for a video that has failed, also where the poll answers 400 or 500", async () => {
	const failed = await run(input, table(sends(video("failed", { error: { code: "oom", message: "no memory" } }))));
	expect(failed.output).toEqual({ error: "no memory" });
	for (const status of [400, 500]) {
		const { output } = await run(input, table(sends({ error: { message: "no memory" } }, status)));
		expect(output).toEqual({ error: expect.stringContaining(`HTTP ${status}: {"error":{"message":"no memory"}}`) });
	}
});

it("a video that the server no longer knows is a loss", async () => {
	const { output } = await run(input, table(sends(video("queued")), sends({ detail: "unknown" }, 404)));
	expect(output).toMatchObject({ name: "JobReturn", loss: true });
});

it("reports the progress that a server has", async () => {
	const { output } = await run(
		input,
		table((response) => json(response, video("completed", { progress: 100 }))),
	);
	expect(output).toEqual(FILM);
});

it("an answer is stored as a file of the job, and nothing of it is left", async () => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-store-"));
	async function* pieces(): AsyncGenerator<Buffer> {
		for (let at = 0; at < 3; at += 1) yield Buffer.alloc(1_000_000, at);
	}
	const body = await spool(pieces(), { maxBytes: 1e7, folder });
	const stored: unknown[] = [];
	const files = {
		async put(source: Uint8Array | string, more: object = {}) {
			stored.push([readFileSync(source as string).length, more]);
			return { url: "https://x/y", bytes: 3_000_000, contentType: "video/mp4" };
		},
	};
	const options = { name: "video.mp4", type: "video/mp4; codecs=avc1", folder, randomId: () => "r" };
	const output = await storeAnswer(body, { ...options, files });
	expect(JSON.parse(String(output.json))).toMatchObject({ url: "https://x/y" });
	expect(stored).toEqual([[3_000_000, { name: "video.mp4", contentType: "video/mp4" }]]);
	const refused = { put: () => Promise.reject(new Error("The file video.mp4 was not stored: quota")) };
	await expect(storeAnswer(body, { ...options, files: refused })).rejects.toThrow(JobFailure);
	await expect(storeAnswer(body, { ...options, files, folder: join(folder, "none") })).rejects.toThrow(JobReturn);
	expect(readdirSync(folder)).toEqual([]);
	await body.release();
	rmSync(folder, { recursive: true });
});
