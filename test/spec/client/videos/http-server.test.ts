/**
 * The official client's `/videos` before an endpoint whose worker is a server with vLLM-Omni's form of it: what reaches
 * the server, and what comes back (D62).
 */
import { fileURLToPath } from "node:url";
import { type OpenAI, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../support/free-port.ts";
import { call, folder, type Folder, startService, type TestService } from "../../../support/service.ts";
import { clientOf } from "../files/files-client.ts";

const SERVER = fileURLToPath(new URL("omni-server.ts", import.meta.url));
const PICTURE = Buffer.alloc(3001, "\x89PNG\r\n", "latin1");
const REQUEST = { model: "wan", prompt: "A harbour", seconds: "4", size: "1280x720" } as const;

const ENDPOINT = {
	launcher: { type: "process", command: [process.execPath, SERVER, "{port}"] },
	http: { preset: "vllm-omni", port: 0, ready: { everyMs: 20 }, async: { everyMs: 20 } },
	workersMax: 1,
	idleTimeout: 3600,
	limits: "off",
};

let place: Folder;
let service: TestService;

beforeAll(async () => {
	place = folder();
	const port = await freePort();
	const endpoints = { plain: ENDPOINT, kept: { ...ENDPOINT, files: true } };
	service = await startService({
		...{ endpoints, port, in: place },
		settings: { publicUrl: `http://127.0.0.1:${port}` },
	});
});
afterAll(async () => {
	await service?.end();
	place?.remove();
});

/** The video when its job has ended. A busy machine may let a worker wait for minutes. */
async function ended(client: OpenAI, endpoint: string, video: string): Promise<OpenAI.Video> {
	const job = video.slice("video_".length);
	for (;;) {
		const { status } = (await call(service.url, `/v2/${endpoint}/status-sync/${job}`)).json;
		if (!status.startsWith("IN_")) return await client.videos.retrieve(video);
	}
}

describe.each(["plain", "kept"])("D62: an endpoint that is %s", (endpoint) => {
	it("makes a video, which the client downloads", async () => {
		const client = clientOf(service, endpoint);
		const input_reference = await toFile(PICTURE, "a.png", { type: "image/png" });
		const more = { extra_params: { scale: 2 }, seed: 7 } as object;
		const { id } = await client.videos.create({ ...REQUEST, ...more, input_reference });
		expect(await ended(client, endpoint, id)).toMatchObject({ ...REQUEST, status: "completed", progress: 100 });
		const answer = await client.videos.downloadContent(id);
		expect(answer.headers.get("content-type")).toBe("video/mp4");
		const received = (await answer.json()) as Record<string, string>;
		expect(received).toEqual({
			...{ ...REQUEST, seed: "7", extra_params: '{"scale":"2"}' },
			input_reference: expect.stringMatching(`^image/png:${PICTURE.length}:input_reference$`),
		});
		const { output } = (await call(service.url, `/v2/${endpoint}/status/${id.slice("video_".length)}`)).json;
		expect(Object.keys(output)).toEqual(
			endpoint === "kept" ? ["url", "bytes", "contentType"] : ["contentType", "bytes", "data"],
		);
	});
});

describe("D62: a server's failures", () => {
	it("fail the video, or are repeated where the server has lost it", async () => {
		const client = clientOf(service, "plain");
		const make = async (prompt: string) => (await client.videos.create({ ...REQUEST, prompt })).id;
		const failed = await ended(client, "plain", await make("fail"));
		expect(failed).toMatchObject({ status: "failed", error: { code: "worker_failed" } });
		expect(failed.error!.message).toContain("CUDA out of memory");
		const repeated = await make("forget");
		expect(await ended(client, "plain", repeated)).toMatchObject({ status: "completed" });
		const { attempts } = (await call(service.url, `/v1/endpoints/plain/jobs/${repeated.slice("video_".length)}`)).json;
		expect(attempts).toHaveLength(2);
	});

	it("a deleted video is deleted on the server, and models are listed", async () => {
		const client = clientOf(service, "plain");
		expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["wan"]);
		const { id } = await client.videos.create({ ...REQUEST, prompt: "hang" });
		const status = async () => (await client.videos.retrieve(id)).status;
		while ((await status()) === "queued") await new Promise((resolve) => setImmediate(resolve));
		await client.videos.delete(id);
		await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404 });
		// The worker takes the next one only when the server has ended this one.
		const { id: next } = await client.videos.create(REQUEST);
		expect(await ended(client, "plain", next)).toMatchObject({ status: "completed" });
	});
});
