/** The setting `http`: what is refused when it is set, what a change does, and who may read the mapping. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { handWorker } from "../hand-worker.ts";

const COMMAND = ["node", "server.js"];
const PROCESS = { type: "process", command: COMMAND };

let place: Folder;
let service: TestService;
beforeAll(async () => {
	place = folder();
	const endpoints = { plain: {}, connected: { http: { preset: "raw", concurrency: 2 } } };
	service = await startService({ endpoints, in: place });
});
afterAll(async () => {
	await service.end();
	place.remove();
});

async function refusal(settings: object): Promise<string> {
	const { status, json } = await call(service.url, "/v1/endpoints/fresh", { method: "PUT", body: settings });
	expect(status, JSON.stringify(json)).toBe(400);
	return json.details.map(({ field, message }: { field: string; message: string }) => `${field} ${message}`).join("\n");
}

describe("the setting http", () => {
	it.each<[string, object, RegExp]>([
		["a preset that does not exist", { launcher: PROCESS, http: "rawe" }, /^http\.preset must be one of .*raw/],
		["a number", { launcher: PROCESS, http: 8000 }, /^http must be the name of a preset, such as raw, or an object/],
		["no place of the server", { launcher: PROCESS, http: "raw" }, /^http\.port .*8000/],
		["an unknown member", { launcher: PROCESS, http: { port: 0, reqest: {} } }, /^http\.reqest is unknown/],
		[
			"an unknown name",
			{ http: { request: { path: "/{inpt.x}" } } },
			/^http\.request\.path has the unknown name \{inpt\.x\}/,
		],
		[
			"a URL with a launched server",
			{ launcher: PROCESS, http: { url: "http://a" } },
			/^http\.url is for the launcher external/,
		],
		[
			"a port to choose, of an external worker",
			{ http: { port: 0 } },
			/^http\.port must be the port on which the server/,
		],
		[
			"one port for several workers",
			{ launcher: PROCESS, http: { port: 8000 } },
			/^http\.port must not be the same for two workers .* write http\.port: 0, and \{port\} .*: workersMax: 1\.$/,
		],
		[
			"the port of a preset for several workers",
			{ launcher: PROCESS, http: "docling" },
			/^http\.port must not be the same for two workers /,
		],
		[
			"a port of the machine for several containers",
			{ launcher: { type: "docker", image: "a", network: "host" }, http: "vllm" },
			/^http\.port is a port of the machine .* write another network in launcher, or workersMax: 1\.$/,
		],
		[
			"a port to choose, in a container",
			{ launcher: { type: "docker", image: "a" }, http: { preset: "vllm", port: 0 } },
			/^http\.port must not be 0 for workers of docker: .* Write the port .*http\.port: 8000\.$/,
		],
		[
			"a socket in a container",
			{ launcher: { type: "docker", image: "a" }, http: { preset: "vllm", socket: "/tmp/a" } },
			/^http\.socket is not seen by workers of docker, .* Write the port .*http\.port: 8000\.$/,
		],
		[
			"a header with a variable that env lacks",
			{
				launcher: PROCESS,
				env: { TOKENS: "a" },
				http: { port: 0, request: { headers: { authorization: "Bearer {env.TOKEN}" } } },
			},
			/^env\.TOKEN is missing: a header of http sends it as \{env\.TOKEN\}\. Write it into env, or remove/,
		],
		[
			"more than an environment variable holds",
			{ http: { port: 1, request: { text: "x".repeat(70_000) } } },
			/^http must have at most 65536 bytes as JSON; it has 7\d{4}\.$/,
		],
		[
			"sleep without commands, where the mapping has none",
			{ launcher: PROCESS, gpusPerWorker: 1, sleep: {}, http: { port: 0 } },
			/^sleep\.command is missing; it must be a list .*\nsleep\.wakeCommand is missing/,
		],
	])("D35: %s is refused with the member and what to write", async (_, settings, sentence) => {
		expect(await refusal(settings)).toMatch(sentence);
	});

	it("D39: is shown as it was given, and changed by a merge patch", async () => {
		const http = { preset: "raw", port: 0, ready: { path: "/health" } };
		const body = { launcher: PROCESS, gpusPerWorker: 1, sleep: {}, http: { ...http, sleep: { path: "/sleep" } } };
		const path = "/v1/endpoints/changed";
		await call(service.url, path, { method: "PUT", body });
		expect((await call(service.url, path)).json).toMatchObject({ http: body.http, version: 1 });
		const patch = { http: { ready: { path: null, tcp: true } } };
		const { json } = await call(service.url, path, { method: "PATCH", body: patch });
		expect(json).toMatchObject({ http: { ...http, ready: { tcp: true } }, version: 2 });
		const { releases } = (await call(service.url, `${path}/releases`)).json;
		expect(releases[0].diff).toEqual([
			{ field: "http.ready.path", old: "/health", new: null },
			{ field: "http.ready.tcp", old: null, new: true },
		]);
		const without = await call(service.url, path, { method: "PATCH", body: { http: null, sleep: null } });
		expect(without.json).not.toHaveProperty("http");
	});

	it("D39: the name of a preset stays when a merge patch changes a member of its mapping", async () => {
		const path = "/v1/endpoints/named";
		const patched = async (http: unknown): Promise<unknown> =>
			(await call(service.url, path, { method: "PATCH", body: { http } })).json.http;
		await call(service.url, path, { method: "PUT", body: { launcher: PROCESS, workersMax: 1, http: "docling" } });
		expect(await patched({ concurrency: 4 })).toEqual({ preset: "docling", concurrency: 4 });
		expect((await call(service.url, `${path}/http`)).json.mapping).toMatchObject({
			concurrency: 4,
			request: { path: "/v1/convert/source/async" },
		});
		expect(await patched("docling"), "a text replaces the object").toBe("docling");
		expect(await patched({ preset: "raw", port: 8000 })).toEqual({ preset: "raw", port: 8000 });
	});

	it("D35: a second worker is refused where the first one has the port", async () => {
		const path = "/v1/endpoints/alone";
		const put = await call(service.url, path, {
			method: "PUT",
			body: { launcher: PROCESS, workersMax: 1, http: { port: 8000 } },
		});
		expect(put.status, put.text).toBe(200);
		const { status, json } = await call(service.url, path, { method: "PATCH", body: { workersMax: 2 } });
		expect([status, json.details?.[0].field]).toEqual([400, "http.port"]);
	});

	it("D35: a variable of a header stays while the header needs it; sluice connect has its own", async () => {
		const http = { port: 0, request: { headers: { authorization: "Bearer {env.TOKEN}" } } };
		const path = "/v1/endpoints/secret";
		const body = { launcher: PROCESS, env: { TOKEN: "a" }, http };
		const { status, text } = await call(service.url, path, { method: "PUT", body });
		expect(status, text).toBe(200);
		const { json } = await call(service.url, path, { method: "PATCH", body: { env: { TOKEN: null } } });
		expect(json.details?.[0].field).toBe("env.TOKEN");
		const external = { launcher: { type: "external" }, env: { TOKEN: null }, http: { port: null } };
		expect((await call(service.url, path, { method: "PATCH", body: external })).status).toBe(200);
	});

	it("D50: a rollback returns to the mapping of the earlier version", async () => {
		const path = "/v1/endpoints/returned";
		await call(service.url, path, { method: "PUT", body: { launcher: PROCESS, workersMax: 1, http: { port: 1 } } });
		await call(service.url, path, { method: "PATCH", body: { http: { port: 2 } } });
		await call(service.url, path, { method: "PATCH", body: { http: null } });
		for (const [version, http] of [
			[2, { port: 2 }],
			[1, { port: 1 }],
			[3, undefined],
		] as const) {
			const back = await call(service.url, `${path}/releases/${version}/rollback`, { method: "POST" });
			expect(back.status, back.text).toBe(200);
			expect((await call(service.url, path)).json.http).toEqual(http);
		}
	});
});

describe("GET /v1/http-presets", () => {
	it("D39: has each preset with its port and an input, and the launchers that can have HTTP servers", async () => {
		const { json } = await call(service.url, "/v1/http-presets");
		expect(json.presets[0]).toEqual({ name: "raw", title: expect.stringMatching(/^Any HTTP server/) });
		expect(json.presets).toContainEqual({
			name: "docling",
			title: expect.stringMatching(/^docling-serve/),
			port: 5001,
			input: { sources: [expect.any(Object)] },
		});
		expect(json.launchers).toEqual(expect.arrayContaining(["process", "docker", "external"]));
		for (const { name } of json.presets) {
			const endpoint = { launcher: { type: "external" }, http: name };
			const made = await call(service.url, `/v1/endpoints/preset-${name}`, { method: "PUT", body: endpoint });
			expect([name, made.json.action]).toEqual([name, "create"]);
		}
	});
});

describe("GET /v1/endpoints/{endpoint}/http", () => {
	const read = (endpoint: string, key?: string) =>
		call(service.url, `/v1/endpoints/${endpoint}/http`, key === undefined ? {} : { key });

	it("has the setting and the mapping, without a place where the worker is external", async () => {
		const given = { preset: "raw", concurrency: 2 };
		const { status, json } = await read("connected");
		expect([status, json.http]).toEqual([200, given]);
		expect(json.mapping).toMatchObject({ concurrency: 2 });
		for (const name of ["url", "port", "socket"]) expect(json.mapping).not.toHaveProperty(name);
	});

	it("D3: an endpoint without http is 404", async () => {
		const { status, json } = await read("plain");
		expect([status, json.code]).toEqual([404, "no_http"]);
		expect(json.error).toContain("'plain' has no setting http");
	});

	it("D26: takes the token of a worker of the endpoint, and of no other", async () => {
		const own = await handWorker(service, "connected");
		const other = await handWorker(service, "plain");
		expect((await read("connected", own.token)).status).toBe(200);
		expect((await read("connected", other.token)).status).toBe(401);
		expect((await read("connected", "sluice_worker_wrong")).status).toBe(401);
		expect((await call(service.url, "/v1/endpoints/connected", { key: own.token })).status, "nothing else").toBe(401);
	});
});
