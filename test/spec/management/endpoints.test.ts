/** Endpoints of the management API: their life, and what reading and writing change. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contentOf } from "../../../src/modules/management/endpoints/endpoint-content.ts";
import { call, type TestService } from "../../support/service.ts";
import { handWorker, submitted } from "../hand-worker.ts";
import { BODY, CPU_BODY, type Managed, managedService } from "./managed-endpoints.ts";

let service: TestService;
let m: Managed;
beforeAll(async () => {
	m = await managedService();
	({ service } = m);
});
afterAll(() => service.end());

const ask: Managed["ask"] = (...q) => m.ask(...q);
const made: Managed["made"] = (...q) => m.made(...q);
const settingsOf: Managed["settingsOf"] = (id) => m.settingsOf(id);

/** What PATCH takes. */
function writable({ id: _id, type: _type, requestUrls: _urls, createdAt: _at, ...members }: any): any {
	return members;
}

describe("the life of an endpoint", () => {
	it("D49: is created with all members, which are those of RunPod's document", async () => {
		const one = await made();
		const base = `${service.url}/v2/${one.id}`;
		expect(one).toEqual({
			id: expect.stringMatching(/^[a-z0-9]{8,14}$/),
			name: "captions",
			type: "QUEUE",
			requestUrls: {
				run: `${base}/run`,
				runSync: `${base}/runsync`,
				status: `${base}/status/{job_id}`,
				stream: `${base}/stream/{job_id}`,
				cancel: `${base}/cancel/{job_id}`,
				retry: `${base}/retry/{job_id}`,
				purgeQueue: `${base}/purge-queue`,
				health: `${base}/health`,
			},
			image: "registry.example/captions:3",
			args: '{"cmd":["python","-u","handler.py"]}',
			cmd: ["python", "-u", "handler.py"],
			entrypoint: [],
			disk: 20,
			ports: [],
			env: { MODEL: "small" },
			registry: null,
			gpu: { pools: ["ANY"], count: 1, allowedCudaVersions: [], minCudaVersion: "12.4" },
			workers: { min: 0, max: 0, idleTimeout: 30 },
			scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
			dataCenterIds: [],
			networkVolumes: [],
			timeout: 300_000,
			flashboot: "OFF",
			createdAt: expect.stringMatching(/Z$/),
		});
		expect((await ask("GET", `/serverless/${one.id}`)).json).toEqual(one);
		expect(settingsOf(one.id)).toMatchObject({
			gpusPerWorker: 1,
			scalerValue: 1.5,
			idleTimeout: 30,
			launcher: {
				type: "docker",
				image: "registry.example/captions:3",
				command: ["python", "-u", "handler.py"],
				gpu: { minCudaVersion: "12.4" },
				pullPolicy: "missing",
				shmSize: "2g",
			},
		});
	});

	it("D49: without GPUs it has cpu, and by count no idleTimeout", async () => {
		const one = await made(CPU_BODY);
		expect(one).toMatchObject({
			gpu: null,
			cpu: [{ id: "cpu5c", vcpuCount: 4, memory: 8 }],
			workers: { min: 0, max: 0 },
		});
		expect(one.workers).not.toHaveProperty("idleTimeout");
	});

	it("D39, D49: DELETE is 204, and its jobs are cancelled", async () => {
		const { id } = await made();
		const job = await submitted(service, id);
		const removed = await ask("DELETE", `/serverless/${id}`);
		expect([removed.status, removed.text]).toEqual([204, ""]);
		expect((await ask("GET", `/serverless/${id}`)).status).toBe(404);
		expect((await call(service.url, `/v2/${id}/status/${job}`)).status).toBe(404);
	});

	it("D42, D49: creation, change and deletion are in the audit log, with the id", async () => {
		const { id } = await made();
		await ask("PATCH", `/serverless/${id}`, { name: "b" });
		await ask("DELETE", `/serverless/${id}`);
		const { entries } = (await call(service.url, "/v1/audit?limit=3")).json;
		expect(entries.map(({ action, subject }: any) => [action, subject])).toEqual([
			["deleteManaged", [id]],
			["updateManaged", [id]],
			["createManaged", [id]],
		]);
	});

	it("D49: a list is newest first, by page, and a page begins after the last item of the one before", async () => {
		const ids = [];
		for (let count = 0; count < 3; count += 1) ids.unshift((await made()).id as string);
		const first = (await ask("GET", "/serverless?limit=2")).json;
		expect(first.endpoints.map(({ id }: any) => id)).toEqual(ids.slice(0, 2));
		await ask("DELETE", `/serverless/${ids[1]}`);
		await made();
		const next = (await ask("GET", `/serverless?limit=1&cursor=${first.pagination.nextCursor}`)).json;
		expect(next.endpoints.map(({ id }: any) => id)).toEqual(ids.slice(2));
		const all = (await ask("GET", "/serverless")).json;
		expect(all.pagination).toEqual({ nextCursor: null, hasNextPage: false });
		expect(all.endpoints.map(({ id }: any) => id)).toContain("file");
	});
});

describe("PATCH", () => {
	const TEXT = "python  -u handler.py";
	it.each<[string, object]>([
		["GPUs and a text as command", { ...BODY, cmd: undefined, args: TEXT }],
		["exclusions", { ...BODY, gpu: { pools: ["ANY"], count: 2, excludedTypes: ["NVIDIA T4"] } }],
		["CPU", CPU_BODY],
		[
			"what is stored only",
			{ ...CPU_BODY, disk: 5, ports: ["22/tcp"], flashboot: "FLASHBOOT", dataCenterIds: ["local"] },
		],
	])("D49: what was read, and is sent back, changes no setting: %s", async (_, body) => {
		const one = await made(body);
		const before = settingsOf(one.id);
		const members = writable(one);
		// Clients in Go sort the members of maps.
		const sent = { ...members, env: Object.fromEntries(Object.entries(members.env).toReversed()) };
		const { status, json, text } = await ask("PATCH", `/serverless/${one.id}`, sent);
		expect(status, text).toBe(200);
		expect(json).toEqual(one);
		expect(settingsOf(one.id)).toEqual(before);
		expect((await ask("GET", `/serverless/${one.id}/releases`)).json.releases).toHaveLength(1);
	});

	it.each<[string, object]>([
		["a secret that was deleted", { env: { A: "{{ RUNPOD_SECRET_removed }}" } }],
		["a volume of an earlier release", { management: { disk: 20, networkVolumes: ["removed"] } }],
		["a registry that does not exist", { launcher: { type: "docker", image: "x:1", registry: "removed" } }],
		[
			"both bounds of CUDA",
			{
				gpusPerWorker: 1,
				launcher: { type: "docker", image: "x:1", gpu: { minCudaVersion: "12.4", allowedCudaVersions: ["12.6"] } },
			},
		],
	])("D49: what a change leaves as it is, is not checked: %s", async (name, settings) => {
		const id = name.replaceAll(" ", "-");
		const added = await call(service.url, "/v1/endpoints", { body: { id, workersMax: 0, ...settings } });
		expect(added.status, added.text).toBe(201);
		const members = writable((await ask("GET", `/serverless/${id}`)).json);
		const { status, json, text } = await ask("PATCH", `/serverless/${id}`, { ...members, name: "renamed" });
		expect(status, text).toBe(200);
		expect(writable(json)).toEqual({ ...members, name: "renamed" });
	});

	it("D49: so it is for an endpoint of the process launcher, whose container cannot be changed", async () => {
		const settings = { id: "program", launcher: { type: "process", command: ["node", "a b.js"] }, workersMax: 0 };
		await call(service.url, "/v1/endpoints", { body: settings });
		const { json } = await ask("GET", "/serverless/program");
		expect(json).toMatchObject({ image: "", cmd: ["node", "a b.js"], gpu: null, cpu: [{ id: "local" }] });
		const before = settingsOf("program");
		const members = writable(json);
		expect((await ask("PATCH", "/serverless/program", members)).json).toEqual(json);
		expect(settingsOf("program")).toEqual(before);
		const refused = await ask("PATCH", "/serverless/program", { cmd: ["python"] });
		expect([refused.status, refused.json.detail]).toEqual([400, expect.stringContaining("the launcher process")]);
		expect((await ask("PATCH", "/serverless/program", { env: { A: "1" } })).json.env).toEqual({ A: "1" });
	});

	it.each<[string, object, object]>([
		["workers by member", { workers: { max: 7 } }, { workers: { min: 0, max: 7, idleTimeout: 30 } }],
		["all variables", { env: { B: "2" } }, { env: { B: "2" } }],
		["no variables", { env: {} }, { env: {} }],
		["the text of the command", { args: "run it" }, { args: "run it", cmd: ["run", "it"], entrypoint: [] }],
		["one list of the command", { entrypoint: ["sh"] }, { cmd: BODY.cmd, entrypoint: ["sh"] }],
		["no command", { args: "" }, { args: "", cmd: [], entrypoint: [] }],
		["the scaling", { scaling: { type: "REQUEST_COUNT", requestCount: 2 } }, { workers: { min: 0, max: 0 } }],
		["a timeout of 0 is the default", { timeout: 0 }, { timeout: 300_000 }],
		["another count of GPUs", { gpu: { count: 2 } }, { gpu: { ...BODY.gpu, count: 2, allowedCudaVersions: [] } }],
		[
			"no CUDA version",
			{ gpu: { minCudaVersion: "" } },
			{ gpu: { pools: ["ANY"], count: 1, allowedCudaVersions: [], minCudaVersion: null } },
		],
		["an image", { image: "exact:1" }, { image: "exact:1" }],
		["name and disk", { name: "b", disk: 50 }, { name: "b", disk: 50 }],
	])("D49: changes %s", async (_, change, after) => {
		const { id } = await made();
		const { status, json, text } = await ask("PATCH", `/serverless/${id}`, change);
		expect(status, text).toBe(200);
		expect(json).toMatchObject(after);
		if ("scaling" in change) expect(json.workers).not.toHaveProperty("idleTimeout");
		if ("env" in change) expect(json.env).toEqual(change.env);
		expect((await ask("GET", `/serverless/${id}`)).json).toEqual(json);
	});

	it("D49: pools without exclusions clear these", async () => {
		const { id } = await made({ ...BODY, gpu: { pools: ["ANY"], excludedTypes: ["NVIDIA T4"] } });
		expect((await ask("PATCH", `/serverless/${id}`, { gpu: { count: 2 } })).json.gpu.excludedTypes).toEqual([
			"NVIDIA T4",
		]);
		expect(
			(await ask("PATCH", `/serverless/${id}`, { gpu: { pools: ["ANY"] } })).json.gpu.excludedTypes,
		).toBeUndefined();
	});

	it("D49: a change of the command by /v1 ends the text that was given", async () => {
		const { id } = await made({ ...BODY, cmd: undefined, args: "run it" });
		await call(service.url, `/v1/endpoints/${id}`, {
			method: "PATCH",
			body: { launcher: { type: "docker", command: ["other"] } },
		});
		expect((await ask("GET", `/serverless/${id}`)).json).toMatchObject({ args: '{"cmd":["other"]}', cmd: ["other"] });
	});
});

describe("objects that an endpoint names", () => {
	it("D49: a template fills what the body leaves out, once", async () => {
		const template = (
			await ask("POST", "/templates", {
				name: "t",
				image: "registry.example/t:1",
				args: "run it",
				disk: 7,
				env: { A: "1", B: "1" },
				serverless: true,
				allowedCudaVersions: ["12.6"],
			})
		).json;
		const { image: _, cmd: __, ...body } = BODY;
		const one = await made({ ...body, gpu: { pools: ["ANY"] }, env: { B: "2" }, templateId: template.id });
		expect(one).toMatchObject({ image: "registry.example/t:1", args: "run it", disk: 7, env: { A: "1", B: "2" } });
		expect(one.gpu.allowedCudaVersions).toEqual(["12.6"]);
		const { json } = await ask("PATCH", `/serverless/${one.id}`, { templateId: template.id, env: { C: "3" } });
		expect(json.env).toEqual({ A: "1", B: "1", C: "3" });
		const pod = (await ask("POST", "/templates", { name: "p", image: "exact:1" })).json;
		const refused = await ask("POST", "/serverless", { ...BODY, templateId: pod.id });
		expect([refused.status, refused.json.detail]).toEqual([422, expect.stringContaining("serverless template")]);
	});

	it("D49: a volume is mounted at /runpod-volume, a login is that of the launcher; both are then in use", async () => {
		const volume = (await ask("POST", "/network-volumes", { name: "models", size: 10, dataCenter: "local" })).json;
		const login = (await ask("POST", "/registries", { name: "ci", username: "u", password: "p-0123456789" })).json;
		const one = await made({ ...BODY, networkVolumes: [volume.id], registry: login.id });
		expect(one).toMatchObject({ networkVolumes: [volume.id], registry: login.id });
		expect(settingsOf(one.id).launcher).toMatchObject({
			registry: login.id,
			volumes: [`sluice-${volume.id}:/runpod-volume`],
		});
		for (const path of [`/network-volumes/${volume.id}`, `/registries/${login.id}`])
			expect((await ask("DELETE", path)).status).toBe(400);
		const { json } = await ask("PATCH", `/serverless/${one.id}`, { networkVolumes: [], registry: null });
		expect(json).toMatchObject({ networkVolumes: [], registry: null });
		expect(settingsOf(one.id).launcher).not.toHaveProperty("volumes");
		for (const path of [`/network-volumes/${volume.id}`, `/registries/${login.id}`])
			expect((await ask("DELETE", path)).status).toBe(204);
	});
});

describe("workers", () => {
	it("D49: each has a status, and the summary counts them", async () => {
		const worker = await handWorker(service, "file");
		const job = await submitted(service, "file");
		await worker.takeThis(job);
		const { status, json } = await ask("GET", "/serverless/file/workers");
		expect(status).toBe(200);
		expect(json).toMatchObject({
			workers: [{ id: worker.id, status: "RUNNING", isStale: false, gpuCount: 0, version: null }],
			summary: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 1 },
			endpointVersion: 1,
		});
		await worker.done(job, { output: 1 });
		expect((await ask("GET", "/serverless/file/workers")).json.summary).toMatchObject({
			running: 0,
			idle: 1,
			total: 1,
		});
		expect((await ask("GET", "/serverless/nowhere/workers")).status).toBe(404);
	});
});

describe("contentOf", () => {
	it("D49: images of registries have no scheme in answers, though Apptainer needs one", () => {
		const launcher = { type: "slurm", image: "docker://a:1", entrypoint: "image", sharedDir: "/s" };
		const endpoint = { ...settingsOf("file"), launcher, gpusPerWorker: 1 };
		expect(contentOf(endpoint)).toMatchObject({ image: "a:1", cmd: [], entrypoint: [], gpu: { pools: ["ANY"] } });
	});
});
