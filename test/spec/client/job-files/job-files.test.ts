/** Files that workers store (D60): the setting, its variables, and the files of a job. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../support/free-port.ts";
import { call, folder, startService, type Folder, type TestService } from "../../../support/service.ts";
import { expectError, handWorker } from "../../hand-worker.ts";

const WORKER = fileURLToPath(new URL("storing-worker.ts", import.meta.url));

const launched = (more: object = {}) => ({
	workersMax: 1,
	idleTimeout: 600,
	stopGraceMs: 500,
	leaseMs: 600_000,
	limits: "off",
	launcher: { type: "process", command: [process.execPath, WORKER] },
	...more,
});

const ENDPOINTS = {
	kept: launched({ files: true }),
	own: launched({ files: true, env: { BUCKET_ACCESS_KEY_ID: "own" } }),
	without: launched(),
	pictures: { files: true, limits: "off" },
	plain: { limits: "off" },
};

let place: Folder;
let port: number;
let service: TestService;

async function begin(): Promise<void> {
	const settings = { publicUrl: `http://127.0.0.1:${port}` };
	service = await startService({ endpoints: ENDPOINTS, settings, port, in: place });
}

beforeAll(async () => {
	place = folder();
	port = await freePort();
	await begin();
});
afterAll(async () => {
	await service?.end();
	place?.remove();
});

/** A busy machine may let a worker wait for minutes. */
async function ran(endpoint: string, input: object): Promise<{ id: string; output: any }> {
	const { json } = await call(service.url, `/v2/${endpoint}/run`, { body: { input } });
	for (;;) {
		const ended = (await call(service.url, `/v2/${endpoint}/status-sync/${json.id}`)).json;
		if (ended.status === "COMPLETED") return ended;
		expect(ended.status).toMatch(/^IN_/);
	}
}

const filesOf = async (endpoint: string, job: string) =>
	(await call(service.url, `/v1/endpoints/${endpoint}/jobs/${job}/files`)).json;

describe("the setting files", () => {
	it("D60: a worker stores bytes and a file, which anyone can read by their links, and the job shows", async () => {
		const bytes = randomBytes(300_000);
		const path = join(place.path, "film.mp4");
		writeFileSync(path, bytes);
		const film = await ran("kept", { path });
		expect(film.output).toEqual({ url: expect.any(String), bytes: 300_000, contentType: "video/mp4" });
		const answer = await fetch(film.output.url);
		expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "video/mp4"]);
		expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
		const text = await ran("kept", { name: "a/é b.txt", text: "hello" });
		expect(await filesOf("kept", text.id)).toEqual({
			enabled: true,
			files: [
				{
					name: "a/é b.txt",
					bucket: expect.stringMatching(/^\d\d-\d\d$/),
					bytes: 5,
					contentType: "text/plain",
					url: expect.stringContaining(`/s3/`),
				},
			],
		});
		const [{ url }] = (await filesOf("kept", text.id)).files;
		expect(await (await fetch(url)).text()).toBe("hello");
	});

	it("D60: an endpoint without it, or with a bucket in env, gets no variables", async () => {
		expect((await ran("without", {})).output).toEqual({ variables: {} });
		expect((await ran("own", {})).output).toEqual({ variables: { BUCKET_ACCESS_KEY_ID: "own" } });
		const { id } = await ran("without", {});
		expect(await filesOf("without", id)).toEqual({ enabled: false, files: [] });
		expect(await filesOf("kept", "unknown")).toEqual({ enabled: true, files: [] });
	});

	it("D60: links outlive the service, and a higher epoch voids them", async () => {
		const { output } = await ran("kept", { name: "a.txt", text: "hello" });
		await service.end();
		await begin();
		expect(await (await fetch(output.url)).text()).toBe("hello");
		const changed = await call(service.url, "/v1/endpoints/kept", { method: "PATCH", body: { files: { epoch: 2 } } });
		expect(changed.status, changed.text).toBe(200);
		expect((await fetch(output.url)).status).toBe(403);
		const { variables } = (await ran("kept", {})).output;
		expect(variables.BUCKET_ACCESS_KEY_ID).toBe("sluice-kept-2");
	});

	it("D60, D35: is refused without publicUrl", async () => {
		const other = await startService({ endpoints: {} });
		try {
			const answer = await call(other.url, "/v1/endpoints", { body: { id: "kept", ...launched({ files: true }) } });
			expectError(answer, 400, "bad_request");
			expect(answer.json.details).toEqual([
				{ field: "files", message: expect.stringMatching(/^needs the option publicUrl: /) },
			]);
		} finally {
			await other.end();
		}
		await expect(startService({ endpoints: { kept: launched({ files: true }) } })).rejects.toThrow(
			/endpoints\.kept\.files needs the option publicUrl: links to files begin with it\./,
		);
	});
});

describe("response_format url of images/generations", () => {
	const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(200_000)]);
	const given = { created: 1, data: [{ b64_json: png.toString("base64"), revised_prompt: "a heron" }] };

	async function generated(endpoint: string, body: object) {
		const worker = await handWorker(service, endpoint);
		const asked = call(service.url, `/v2/${endpoint}/openai/v1/images/generations`, { body });
		const job = (await worker.take())!;
		expect(job.input).toEqual({ openai_route: "/v1/images/generations", openai_input: body });
		await worker.done(job.id, { output: given });
		return { job: job.id, answer: await asked };
	}

	it("D60: a picture in base64 is answered as a link, and is a file of the job", async () => {
		const { job, answer } = await generated("pictures", { prompt: "a heron", response_format: "url" });
		const { url, ...rest } = answer.json.data[0];
		expect(rest).toEqual({ b64_json: null, revised_prompt: "a heron" });
		const picture = await fetch(url);
		expect(picture.headers.get("content-type")).toBe("image/png");
		expect(Buffer.from(await picture.arrayBuffer()).equals(png)).toBe(true);
		expect((await filesOf("pictures", job)).files).toMatchObject([{ name: "1.png", bytes: png.length }]);
	});

	it.each([
		["pictures", { prompt: "a heron", response_format: "b64_json" }],
		["pictures", { prompt: "a heron" }],
		["plain", { prompt: "a heron", response_format: "url" }],
	])("D60, D5: %s is answered what the worker said for %j", async (endpoint, body) => {
		const { answer } = await generated(endpoint, body);
		expect(answer.text).toBe(JSON.stringify(given));
	});
});
