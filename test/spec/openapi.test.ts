/**
 * What `/openapi.json` says, held against a running service: real answers of each operation fit its
 * schemas, and refusals are those it names.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { OpenApi } from "../../scripts/api-page/openapi-types.ts";
import { manualClock } from "../support/manual-clock.ts";
import { ON_POSTGRES } from "../support/service-store.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { endWith, handWorker, type HandWorker, submitted } from "./hand-worker.ts";
import { BODY } from "./management/managed-endpoints.ts";
import { askOfOne, closed, formOf, held, operationsOf } from "./openapi-calls.ts";

const EP = "thumbnail";
const NEVER = "http://127.0.0.1:9/";
const clock = manualClock();
let service: TestService;
let worker: HandWorker;
let document: OpenApi;
const ajv = new Ajv2020({
	strict: false,
	formats: { "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, uri: true, origin: true },
});

beforeAll(async () => {
	service = await startService({
		endpoints: {
			[EP]: {},
			full: { limits: { queue: 0 } },
			deleted: {},
			served: { http: "docling" },
			slow: { limits: { status: { concurrent: 0 } } },
		},
		settings: {
			webhooks: { allowPrivateNetworks: true },
			management: { launcher: { type: "docker", prePull: false } },
			hosts: { rig1: { docker: "unix:///nowhere/docker.sock", workersMax: 2 } },
		},
		clock,
	});
	worker = await handWorker(service, EP);
	document = (await call(service.url, "/openapi.json", { key: null })).json as OpenApi;
	ajv.addSchema({ $id: "doc", components: closed(document.components) as object });
});
// What a test that fails leaves waiting is not for the next one.
afterEach(async () => {
	const { jobs } = (await call(service.url, `/v1/endpoints/${EP}/jobs?status=IN_QUEUE&limit=100`)).json;
	for (const { id } of jobs) await call(service.url, `/v2/${EP}/cancel/${id}`, { method: "POST" });
});
afterAll(() => endWith(service, clock));

function faultsOf(schema: unknown, value: unknown): unknown {
	const fits = ajv.compile(JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"doc#/')) as object);
	return fits(value) ? [] : fits.errors;
}

/** Operations whose success was held against its schema. */
const answered = new Set<string>();

/**
 * Calls an operation and holds the answer against what the document says of it; answers status,
 * code and body. `step`: time goes on while it is held.
 */
async function ask(
	id: string,
	{ query = "", step, ...params }: { query?: string; step?: number; [param: string]: string | number | undefined } = {},
	init: Parameters<typeof call>[2] = {},
): Promise<{ status: number; json: any; code?: string }> {
	const { method, path, operation } = operationsOf(document).find((each) => each.id === id)!;
	const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
		String(params[name] ?? (name === "endpoint" ? EP : worker.id)),
	);
	const headers = path.startsWith("/worker/") ? { authorization: worker.token, ...init.headers } : init.headers;
	const answer = await held(
		clock,
		call(service.url, filled + query, {
			method,
			...init,
			...(headers ? { headers } : {}),
		}),
		step ?? 0,
	);
	const said = operation.responses[answer.status];
	expect(said, `${id} answered ${answer.status}: ${answer.text}`).toBeDefined();
	for (const name of Object.keys(said!.headers ?? {})) expect([...answer.headers.keys()]).toContain(name.toLowerCase());
	const media = said!.content?.["application/json"];
	expect([id, answer.status, media === undefined ? answer.text : faultsOf(media.schema, answer.json)]).toEqual([
		id,
		answer.status,
		media === undefined ? "" : [],
	]);
	if (answer.status < 300) {
		answered.add(id);
		return answer;
	}
	const code: string = answer.json.code ?? answer.json.error.code;
	expect(Object.keys(media?.examples ?? {})).toContain(code);
	return { ...answer, code };
}

async function ended(body: object): Promise<string> {
	const id = await submitted(service, EP);
	await worker.takeThis(id);
	await worker.done(id, body);
	return id;
}

describe("spec 4: answers of clients' operations fit their schemas", () => {
	it.each(["", "sdk"])("from submission to the end, prefix '%s'", async (prefix) => {
		const name = (operation: string): string =>
			prefix === "" ? operation : `${prefix}${operation.charAt(0).toUpperCase()}${operation.slice(1)}`;
		const job = (await ask(name("run"), {}, { body: { input: {} } })).json.id as string;
		await ask(name("status"), { job });
		await worker.takeThis(job);
		await worker.chunk(job, { output: "a", metrics: { tokens: 1 } });
		await worker.done(job, { status: "IN_PROGRESS", output: { step: 1 } });
		await ask(name("status"), { job });
		for (const each of ["stream", "streamPost"]) await ask(name(each), { job, query: "?offset=0&wait=1000" });
		await worker.done(job, { output: [1] });
		for (const each of ["status", "statusPost", "statusSync", "statusSyncPost"])
			expect((await ask(name(each), { job })).json.status).toBe("COMPLETED");
		const failed = await ended({ error: "no" });
		expect((await ask(name("status"), { job: failed })).json.error).toBe("no");
		await ask(name("retry"), { job: failed });
		await ask(name("cancel"), { job: failed });
		const waited = ask(name("runsync"), { query: "?wait=1000", step: 1000 }, { body: { input: {} } });
		expect((await waited).json.status).toBe("IN_QUEUE");
		await ask(name("requests"), { query: "?limit=2" });
		await ask(name("requests"), { query: "?limit=100" });
		await ask(name("health"));
		expect((await ask(name("purgeQueue"))).json.removed).toBe(1);
	});

	it.each(["", "sdk"])("D32: under /openai, prefix '%s'", async (prefix) => {
		for (const method of ["", "Get"]) {
			const id = `${prefix === "" ? "openai" : "sdkOpenai"}${method}`;
			// No list of models: one that is known needs no worker.
			const answer = ask(id, { route: "v1/models/small" }, method === "" ? { body: { model: "small" } } : {});
			const taken = await worker.take();
			await worker.done(taken!.id, { output: { object: "list" } });
			expect((await answer).json).toEqual({ object: "list" });
		}
	});
});

describe("answers of workers' operations fit their schemas", () => {
	it("protocol B: a job is taken, reported, and stopped", async () => {
		expect((await ask("jobTake", { step: 1000 })).status).toBe(204);
		const job = await submitted(service, EP, { input: {}, s3Config: { bucketName: "b" } });
		await ask("jobTake");
		await ask("jobStream", { job }, { body: { output: 1 } });
		await ask("jobStreamBatch", { job }, { text: '{"output":2}' });
		await ask("ping", { query: `?job_id=${job}` });
		await call(service.url, `/v2/${EP}/cancel/${job}`, { method: "POST" });
		expect((await ask("jobStop")).json).toEqual({ jobsToStop: [job] });
		await ask("jobDone", { job }, { body: { output: 1 } });
		await ask("jobTake", { query: "?job_in_progress=0", step: 1000 });
		await submitted(service, EP);
		const [taken] = (await ask("jobTakeBatch", { query: "?batch_size=5" })).json;
		const text = JSON.stringify({ id: taken.id, output: 1 });
		expect((await ask("jobDoneBatch", {}, { text })).json).toEqual([200]);
	});
});

describe("D39: answers of operators' operations fit their schemas", () => {
	it("endpoints and workers", async () => {
		await ask(
			"createEndpoint",
			{},
			{
				body: {
					id: "own",
					launcher: { type: "process", command: ["node", "-e", "0"] },
					workersMax: 0,
					limits: { run: { per10s: "off" } },
					env: { A: "1" },
				},
			},
		);
		await ask("updateEndpoint", { endpoint: "own" }, { body: { name: "Mine", limits: "off" } });
		await ask("compareEndpoints", {}, { body: { endpoints: { own: { workersMax: 1 } } } });
		await ask("putEndpoint", { endpoint: "own", query: "?dryRun=true" }, { body: { env: { B: "2" }, sleep: null } });
		for (const id of ["getEndpoint", "pauseEndpoint", "resumeEndpoint", "renewWebhookSecret", "listWorkers"])
			await ask(id, { endpoint: "own" });
		await ask("workerEnv", { query: "?url=http://127.0.0.1:1" });
		for (const id of ["listEndpoints", "allMetrics"]) await ask(id);
		expect((await ask("listWorkers")).json.workers).toHaveLength(1);
		for (const id of ["endpointMetrics", "endpointDemand"]) await ask(id, { endpoint: "own" });
		const launched = service.next("worker.launched", ({ endpoint }) => endpoint === "own");
		await ask(
			"updateEndpoint",
			{ endpoint: "own" },
			{
				body: {
					launcher: { type: "process", command: ["sleep", "300"] },
					workersMax: 1,
					workersMin: 1,
					stopGraceMs: 0,
				},
			},
		);
		const { worker: id } = await held(clock, launched, 1000);
		for (const name of ["searchLogs", "startWorkers", "stopWorker", "deleteEndpoint"])
			await ask(name, { endpoint: "own", worker: id });
	});

	it("jobs that wait, run, were lost, retried and cancelled", async () => {
		const job = await submitted(service, EP, { input: { a: 1 }, webhook: NEVER });
		const detail = async (): Promise<any> => (await ask("getJob", { job })).json;
		expect((await ask("listJobFiles", { job })).json).toEqual({ enabled: false, files: [] });
		expect((await detail()).reason).toBeDefined();
		await worker.takeThis(job).then(detail);
		await worker.done(job, { error: "no" });
		await call(service.url, `/v2/${EP}/retry/${job}`, { method: "POST" });
		await worker.takeThis(job);
		await clock.advance(21_000);
		expect((await detail()).attempts.map(({ end }: { end: string }) => end)).toContain("lost");
		await call(service.url, `/v2/${EP}/cancel/${job}`, { method: "POST" });
		await detail();
		for (const query of ["?limit=2", "?limit=100&expired=true"]) await ask("listJobs", { query });
	});

	it("D39: deeds on many jobs", async () => {
		const failed = await ended({ error: "no" });
		expect((await ask("retryJobs", {}, { body: { dryRun: true } })).json.matched).toBeGreaterThan(0);
		await ask("retryJobs", {}, { body: {} });
		expect((await ask("cancelJobs", {}, { body: {} })).json.done).toBeGreaterThan(0);
		expect((await ask("getJob", { job: failed })).json.status).toBe("CANCELLED");
	});

	it("D21: deliveries", async () => {
		const job = await submitted(service, EP, { input: {}, webhook: NEVER });
		await call(service.url, `/v2/${EP}/cancel/${job}`, { method: "POST" });
		for (let state = "pending"; state === "pending"; await clock.advance(1000))
			state = (await ask("listDeliveries", { query: `?job=${job}` })).json.deliveries[0]?.state ?? "pending";
		const { deliveries } = (await ask("listDeliveries", { query: `?job=${job}` })).json;
		expect(deliveries[0].tries).not.toEqual([]);
		await ask("getDelivery", { delivery: deliveries[0].id });
		await ask("redeliver", { delivery: deliveries[0].id });
	});

	it("D49: endpoints of the management API", async () => {
		const { id: endpoint } = (await ask("createManaged", {}, { body: BODY })).json;
		await ask("updateManaged", { endpoint }, { body: { scaling: { type: "REQUEST_COUNT", requestCount: 2 } } });
		await ask("updateManaged", { endpoint }, { body: { image: "a:2" } });
		await ask("rollBackRelease", { endpoint, version: "1" });
		await ask("listReleases", { endpoint });
		for (const id of ["getManaged", "listManagedReleases", "deleteManaged"]) await ask(id, { endpoint });
		await ask("listManaged");
		expect((await ask("listManagedWorkers")).json.workers).toHaveLength(1);
	});

	it.each<[kind: string, parameter: "template" | "volume" | "login" | "secret", body: object, change?: object]>([
		["Template", "template", { name: "t", image: "a:1", public: true }, { image: "a:2" }],
		["Volume", "volume", { name: "models", size: 10, dataCenter: "local" }, { size: 20 }],
		["Login", "login", { name: "ci", username: "a", password: "b" }],
		["Secret", "secret", { name: "token", value: "v" }, { description: "d" }],
	])("D49: %s", async (kind, parameter, body, change) => {
		const { id } = (await ask(`create${kind}`, {}, { body })).json;
		if (change) await ask(`change${kind}`, { [parameter]: id }, { body: change });
		await ask(`get${kind}`, { [parameter]: id });
		await ask(`list${kind}s`);
		if (kind === "Template") await ask("listPublicTemplates");
		await ask(`remove${kind}`, { [parameter]: id });
	});

	it("D49: the catalog, and lists that are empty", async () => {
		const lists = ["listGpuTypes", "listCpuTypes", "listDataCenters", "listBuilds", "listPods"];
		for (const id of lists) await ask(id);
		for (const id of ["getCpuType", "getDataCenter"]) await ask(id, { id: "local" });
	});

	it("D44: hosts", async () => {
		const { hosts } = (await ask("listHosts")).json;
		expect(hosts).toMatchObject([{ name: "rig1", drained: false, workersMax: 2, workers: [] }]);
		expect((await ask("drainHost", { host: "rig1" })).json).toMatchObject({ drained: true });
		expect((await ask("resumeHost", { host: "rig1" })).json).toMatchObject({ drained: false });
		expect((await ask("listGpus")).json.gpus).toEqual([]);
	});

	it("D39, D45, D53: HTTP servers, registries and alerts", async () => {
		expect((await ask("getHttp", { endpoint: "served" })).json.http).toBe("docling");
		for (const id of ["listHttpPresets", "getHttp", "getS3Credentials"]) await ask(id);
		for (const id of ["silenceAlert", "listAlerts", "endSilence", "testAlerts"])
			await ask(id, { alert: "SluiceSwaps" }, id === "silenceAlert" ? { body: {} } : {});
		await ask("putRegistry", { registry: "ghcr.io" }, { body: { username: "a", password: "b" } });
		expect((await ask("listRegistries")).json.registries).toHaveLength(1);
		await ask("removeRegistry", { registry: "ghcr.io" });
	});

	it("D30: keys", async () => {
		const { id, key } = (await ask("createKey", {}, { body: { name: "a", scopes: ["read"], endpoints: [EP] } })).json;
		await call(service.url, `/v2/${EP}/health`, { key });
		await ask("listKeys");
		await ask("rotateKey", { key: id }, { body: {} });
		await ask("listAudit");
		await ask("revokeKey", { key: id });
	});

	it("D31: the console's sign-in", async () => {
		await ask("createConsoleLink");
		const { json } = await ask("signIn", {}, { key: null, body: { key: KEY } });
		expect((await ask("getSession")).json).toEqual({ principal: json.principal });
		await ask("signOut", {}, { key: null });
		const [{ id }] = (await ask("listSessions")).json.sessions;
		await ask("endSession", { session: id });
		await ask("endSessions");
	});

	it("servers, and the progress of a backup", async () => {
		expect((await ask("getBackup")).json).toMatchObject({ state: "none" });
		expect((await ask("listServers")).json.servers).toHaveLength(ON_POSTGRES ? 1 : 0);
	});

	it("D56, D57, D58, D62: files, batches, background responses, videos", async () => {
		const file = (await ask("createFile", {}, formOf({ purpose: "batch", file: "" }))).json.id;
		const body = { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" };
		const batch = (await ask("createBatch", {}, { body })).json.id;
		const response = (await ask("openai", { route: "v1/responses" }, { body: { background: true } })).json.id;
		await askOfOne(ask, worker, { batch, file, response });
	});

	it("D40: the process, and the document itself", async () => {
		for (const id of ["healthz", "readyz", "openapi"]) await ask(id, {}, { key: null });
	});
});

describe("D2: refusals are those that the document names", () => {
	const DOES_NOT_EXIST = "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
	it.each<[string, string, Parameters<typeof ask>[1], Parameters<typeof ask>[2]]>([
		["bad_json", "run", {}, { text: "{" }],
		["bad_json", "openai", { route: "v1/models" }, { text: "[]" }],
		["bad_json", "pauseEndpoint", {}, { text: "1" }],
		["bad_request", "runsync", {}, { body: { input: 1 } }],
		["bad_request", "createKey", {}, { body: {} }],
		["bad_request", "createEndpoint", {}, { body: { id: "x", workersMax: -1 } }],
		["bad_query", "stream", { job: "x", query: "?wait=soon" }, {}],
		["bad_query", "requests", { query: "?limit=0" }, {}],
		["bad_query", "workerEnv", {}, {}],
		["unauthorized", "status", { job: "x" }, { key: null }],
		["unauthorized", "openai", { route: "v1/models" }, { key: "no-such-key", body: {} }],
		["unauthorized", "listKeys", {}, { key: null }],
		["worker_unauthorized", "ping", {}, { headers: { authorization: "no" } }],
		["worker_unauthorized", "jobTake", { step: 1000 }, { headers: { authorization: "no" } }],
		["endpoint_not_found", "health", { endpoint: "nowhere" }, {}],
		["job_not_found", "cancel", { job: DOES_NOT_EXIST }, {}],
		["job_not_found", "getJob", { job: DOES_NOT_EXIST }, {}],
		["worker_not_found", "workerLogs", { worker: "none" }, {}],
		["bad_query", "workerLogs", { query: "?tail=10001" }, {}],
		["worker_gone", "stopWorker", { worker: "none" }, {}],
		["bad_request", "cancelJobs", {}, { body: { filter: 1 } }],
		["bad_query", "retryJobs", {}, { body: { cursor: "%" } }],
		["bad_query", "endpointMetrics", { query: "?step=1" }, {}],
		["endpoint_not_found", "feed", { query: "?endpoint=nowhere" }, {}],
		["delivery_not_found", "redeliver", { delivery: "msg_1" }, {}],
		["key_not_found", "revokeKey", { key: "1" }, {}],
		["session_not_found", "endSession", { session: "1" }, {}],
		["host_not_found", "drainHost", { host: "none" }, {}],
		["registry_not_found", "removeRegistry", { registry: "none" }, {}],
		["file_not_found", "getFile", { file: "none" }, {}],
		["missing_required_parameter", "createFile", {}, formOf({ file: "x" })],
		["openai_path_not_found", "openai", { route: "v1/files/" }, { body: {} }],
		["response_not_found", "getResponse", { response: `resp_${DOES_NOT_EXIST}` }, {}],
		["batch_not_found", "getBatch", { batch: "none" }, {}],
		["bad_request", "createBatch", {}, { body: {} }],
		["bad_query", "endSessions", { query: "?key=" }, {}],
		["endpoint_exists", "createEndpoint", {}, { body: { id: EP } }],
		["too_many_at_once", "status", { endpoint: "slow", job: "x" }, {}],
		["body_too_large", "createKey", {}, { text: `"${"x".repeat(70_000)}"` }],
	])("%s of %s", async (code, id, q, init) => {
		expect((await ask(id, q, init)).code).toBe(code);
	});

	it("job_not_retryable, queue_full and idempotency_reused", async () => {
		const job = await ended({ output: 1 });
		expect((await ask("retry", { job })).code).toBe("job_not_retryable");
		await submitted(service, "full");
		expect((await ask("run", { endpoint: "full" }, { body: { input: {} } })).code).toBe("queue_full");
		const headers = { "idempotency-key": "k" };
		await submitted(service, "deleted");
		await ask("run", { endpoint: "deleted" }, { body: { input: {} }, headers });
		expect((await ask("run", { endpoint: "deleted" }, { body: { input: { a: 1 } }, headers })).code).toBe(
			"idempotency_reused",
		);
	});
});

describe("all together", () => {
	it("every operation with JSON answers had a success validated against its schema", () => {
		expect(
			operationsOf(document)
				.map(({ id }) => id)
				.filter((id) => !answered.has(id))
				.toSorted(),
		).toEqual(
			["workerLogs", "feed", "createBackup", "streamWorkerLogs", "getGpuType", "serviceLog", "metrics"].toSorted(),
		);
	});
});
