/**
 * Every tool of RunPod's MCP server from npm, unmodified: once with good arguments and once with bad ones, against one
 * service (D49). To add a tool, add a row: the last test fails for a tool without one.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handWorker, type HandWorker, submitted } from "../spec/hand-worker.ts";
import { call, startService, type TestService } from "../support/service.ts";
import { mcpServer, type McpServer } from "./mcp-process.ts";

let service: TestService;
let worker: HandWorker;
let server: McpServer;
/** Its worker prints a line and takes no job. */
const PRINTER = {
	launcher: { type: "process", command: [process.execPath, "-e", "console.log('ready'); setInterval(() => {}, 1e9)"] },
	workersMax: 1,
};
/** What earlier rows have made, by the name that later rows use. */
const made = new Map<string, any>();

beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {}, printer: PRINTER },
		settings: { gpus: 2, management: { launcher: { type: "docker", prePull: false } } },
	});
	worker = await handWorker(service, "ep");
	server = await mcpServer(service.url);
});
afterAll(async () => {
	server?.end();
	await service?.end();
});

interface Row {
	tool: string;
	/** Its arguments; a function for what earlier rows have made. Undefined: none are good. */
	good: object | (() => object | Promise<object>) | undefined;
	/** Part of the answer; undefined: none (204). */
	answer: object | undefined;
	/** Keeps the answer under this name. */
	keeps?: string;
	bad: object | (() => object);
	/** Part of the error's text. */
	says: string;
}

const id = (name: string): string => made.get(name).id;
const ENDPOINT = {
	name: "captions",
	type: "QUEUE",
	image: "registry.example/captions:3",
	gpu: { pools: ["ANY"] },
	scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
	workers: { min: 0, max: 0 },
};
const NONE = { id: "none" };
const UNKNOWN = "There is no endpoint 'none'";
const NO_JOB = "There is no job 'none' on endpoint 'ep'";

/** In this order. */
const ROWS: readonly Row[] = [
	// Endpoints.
	{
		tool: "create-endpoint",
		good: { body: ENDPOINT },
		answer: { name: "captions", image: "registry.example/captions:3", disk: 20 },
		keeps: "endpoint",
		bad: { body: { ...ENDPOINT, workers: { min: 2, max: 1 } } },
		says: "workers.min must not be over workers.max",
	},
	{
		tool: "get-endpoint",
		good: () => ({ id: id("endpoint") }),
		answer: { scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 } },
		bad: NONE,
		says: UNKNOWN,
	},
	{
		tool: "update-endpoint",
		good: () => ({ id: id("endpoint"), body: { env: { A: "1" }, workers: { idleTimeout: 60 } } }),
		answer: { env: { A: "1" }, workers: { min: 0, max: 0, idleTimeout: 60 } },
		bad: () => ({ id: id("endpoint"), body: { timeout: 10 } }),
		says: "timeout must be at least 5001 ms",
	},
	{
		tool: "set-endpoint-gpus",
		good: () => ({ endpointId: id("endpoint"), pools: ["ANY"], gpuCount: 2 }),
		answer: {},
		bad: { endpointId: "none", pools: ["ANY"] },
		says: UNKNOWN,
	},
	{
		tool: "list-endpoint-releases",
		good: () => ({ id: id("endpoint") }),
		answer: { endpointVersion: 3, releases: [{ version: 3 }, { version: 2 }, { version: 1 }] },
		bad: NONE,
		says: UNKNOWN,
	},
	{ tool: "list-endpoint-builds", good: { id: "ep" }, answer: { builds: [] }, bad: NONE, says: UNKNOWN },
	{
		tool: "get-endpoint-build",
		good: undefined,
		answer: undefined,
		bad: { id: "ep", buildId: "none" },
		says: "There is no operation GET /v2/serverless/ep/builds/none",
	},
	{
		tool: "stream-worker-logs",
		good: async () => {
			const launched = service.next("worker.launched");
			await call(service.url, "/v1/endpoints/printer", { method: "PATCH", body: { workersMin: 1 } });
			const { worker: workerId } = await launched;
			return { endpointId: "printer", workerId };
		},
		answer: { items: [{ source: "container", line: "ready" }] },
		bad: { endpointId: "printer", workerId: "none" },
		says: "none",
	},
	// Jobs.
	{
		tool: "run-endpoint",
		good: { endpointId: "ep", input: { n: 1 } },
		answer: { status: "IN_QUEUE" },
		keeps: "job",
		bad: { endpointId: "none", input: {} },
		says: UNKNOWN,
	},
	{
		tool: "get-job-status",
		good: async () => {
			await worker.takeThis(id("job"));
			await worker.chunk(id("job"), { output: "a" });
			await worker.done(id("job"), { output: [1] });
			return { endpointId: "ep", jobId: id("job") };
		},
		answer: { status: "COMPLETED" },
		bad: { endpointId: "ep", jobId: "none" },
		says: NO_JOB,
	},
	{
		tool: "stream-job",
		good: () => ({ endpointId: "ep", jobId: id("job") }),
		answer: { status: "COMPLETED", stream: [{ output: "a" }] },
		bad: { endpointId: "ep", jobId: "none" },
		says: NO_JOB,
	},
	{
		tool: "runsync-endpoint",
		good: () => {
			void worker.take().then((job) => worker.done(job!.id, { output: { ok: true } }));
			return { endpointId: "ep", input: {} };
		},
		answer: { status: "COMPLETED", output: { ok: true } },
		bad: { endpointId: "none", input: {} },
		says: UNKNOWN,
	},
	{
		tool: "retry-job",
		good: async () => {
			const job = await submitted(service, "ep");
			await worker.takeThis(job);
			await worker.done(job, { error: "no" });
			return { endpointId: "ep", jobId: job };
		},
		answer: { status: "IN_QUEUE" },
		keeps: "retried",
		bad: () => ({ endpointId: "ep", jobId: id("job") }),
		says: "only FAILED and TIMED_OUT jobs can be retried",
	},
	{
		tool: "cancel-job",
		good: () => ({ endpointId: "ep", jobId: id("retried") }),
		answer: { status: "CANCELLED" },
		bad: { endpointId: "ep", jobId: "none" },
		says: NO_JOB,
	},
	{
		tool: "endpoint-health",
		good: { endpointId: "ep" },
		answer: { workers: { idle: 1 } },
		bad: { endpointId: "none" },
		says: UNKNOWN,
	},
	{
		tool: "purge-endpoint-queue",
		good: async () => {
			await submitted(service, "ep");
			return { endpointId: "ep" };
		},
		answer: { removed: 1 },
		bad: { endpointId: "none" },
		says: UNKNOWN,
	},
	{
		tool: "list-endpoint-workers",
		good: { id: "ep" },
		answer: { workers: [{ status: "IDLE" }], summary: { idle: 1, total: 1 } },
		bad: NONE,
		says: UNKNOWN,
	},
	{
		tool: "delete-endpoint",
		good: () => ({ id: id("endpoint") }),
		answer: undefined,
		bad: { id: "ep" },
		says: "is defined in sluice.yaml",
	},
	// Catalog.
	{
		tool: "list-gpu-types",
		good: {},
		answer: { gpus: [] },
		bad: { include: ["ALL"] },
		says: "include",
	},
	{ tool: "get-gpu-type", good: undefined, answer: undefined, bad: { id: "NVIDIA L4" }, says: "NVIDIA L4" },
	{
		tool: "list-cpu-types",
		good: { include: ["AVAILABILITY"], product: ["SERVERLESS"] },
		answer: { cpus: [{ id: "local", availability: "HIGH" }] },
		bad: { include: ["ALL"] },
		says: "include",
	},
	{ tool: "get-cpu-type", good: { id: "local" }, answer: { id: "local" }, bad: NONE, says: "none" },
	{
		tool: "list-data-centers",
		good: { regions: ["UNKNOWN"] },
		answer: { dataCenters: [{ id: "local" }] },
		bad: { include: ["ALL"] },
		says: "include",
	},
	{ tool: "get-data-center", good: { id: "local" }, answer: { id: "local" }, bad: NONE, says: "none" },
	// Templates, network volumes, registries.
	{
		tool: "create-template",
		good: { body: { name: "t", image: "a:1", serverless: true } },
		answer: { name: "t", serverless: true },
		keeps: "template",
		bad: { body: { name: "t", image: "a:1", registry: "none" } },
		says: "registry",
	},
	{ tool: "get-template", good: () => ({ id: id("template") }), answer: { name: "t" }, bad: NONE, says: "no template" },
	{
		tool: "update-template",
		good: () => ({ id: id("template"), body: { image: "a:2" } }),
		answer: { image: "a:2" },
		bad: { id: "none", body: { image: "a:2" } },
		says: "no template",
	},
	{ tool: "delete-template", good: () => ({ id: id("template") }), answer: undefined, bad: NONE, says: "no template" },
	{
		tool: "create-network-volume",
		good: { body: { name: "models", size: 10, dataCenter: "local" } },
		answer: { name: "models", size: 10 },
		keeps: "volume",
		bad: { body: { name: "models", size: 10, dataCenter: "elsewhere" } },
		says: "dataCenter must be local",
	},
	{
		tool: "get-network-volume",
		good: () => ({ id: id("volume") }),
		answer: { name: "models" },
		bad: NONE,
		says: "no network volume",
	},
	{
		tool: "update-network-volume",
		good: () => ({ id: id("volume"), body: { size: 20 } }),
		answer: { size: 20 },
		bad: () => ({ id: id("volume"), body: { size: 10 } }),
		says: "size must be at least 20",
	},
	{
		tool: "delete-network-volume",
		good: () => ({ id: id("volume") }),
		answer: undefined,
		bad: NONE,
		says: "no network volume",
	},
	{
		tool: "create-registry",
		good: { body: { name: "ci", username: "u", password: "p-0123456789" } },
		answer: { name: "ci" },
		keeps: "registry",
		bad: { body: { name: "ci", username: "u", password: "p-0123456789" } },
		says: "is the name of another registry",
	},
	{
		tool: "get-registry",
		good: () => ({ id: id("registry") }),
		answer: { name: "ci" },
		bad: NONE,
		says: "no registry",
	},
	{ tool: "delete-registry", good: () => ({ id: id("registry") }), answer: undefined, bad: NONE, says: "no registry" },
];

/** Tools without arguments that the service could refuse. */
const LISTS: readonly (readonly [tool: string, answer: object])[] = [
	["list-endpoints", { items: expect.arrayContaining([expect.objectContaining({ id: "ep" })]) }],
	["list-templates", { templates: [] }],
	["list-network-volumes", { networkVolumes: [] }],
	["list-registries", { registries: [] }],
	["list-public-templates", { templates: [] }],
	["list-pods", { pods: [] }],
];

const ONE = { id: "one" };
const POD = { name: "a", image: "b", gpu: { pools: ["ADA_24"], count: 1 } };
const CLUSTER = { name: "a", image: "b", type: "TRAINING", gpu: { id: "x", count: 8 }, podCount: 2 };

/** Tools for what Sluice does not have. */
const UNSUPPORTED: readonly (readonly [tool: string, q: object, instead: string])[] = [
	["create-pod", { body: POD }, "POST /v2/serverless"],
	["get-pod", ONE, "POST /v2/serverless"],
	["update-pod", { ...ONE, body: { name: "b" } }, "POST /v2/serverless"],
	["pod-action", { ...ONE, body: { action: "START" } }, "POST /v2/serverless"],
	["delete-pod", ONE, "POST /v2/serverless"],
	["stream-pod-logs", { podId: "one" }, "POST /v2/serverless"],
	["list-clusters", {}, "GET /v1/gpus"],
	["create-cluster", { body: CLUSTER }, "GET /v1/gpus"],
	["get-cluster", ONE, "GET /v1/gpus"],
	["update-cluster", { ...ONE, body: { name: "b" } }, "GET /v1/gpus"],
	["delete-cluster", ONE, "GET /v1/gpus"],
	["list-cluster-pods", ONE, "GET /v1/gpus"],
	["list-billing", {}, "GPU seconds"],
	["list-pod-billing", {}, "GPU seconds"],
	["list-serverless-billing", {}, "GPU seconds"],
	["list-endpoint-billing", {}, "GPU seconds"],
	["list-network-volume-billing", {}, "GPU seconds"],
	["list-cluster-billing", {}, "GPU seconds"],
	["get-ssh-keys", {}, "output of a worker"],
	["update-ssh-keys", { body: { keys: [] } }, "output of a worker"],
	["list-delegations", {}, "POST /v2/registries"],
	["create-delegation", { body: { resource: "arn" } }, "POST /v2/registries"],
	["revoke-delegation", ONE, "POST /v2/registries"],
];

/** Served by GraphQL alone, whose address is closed. */
const GRAPHQL = ["get-capacity", "list-hub-repos", "list-public-endpoints", "deploy-hub-repo"];

describe("RunPod's MCP server", () => {
	it.each(ROWS.map((row) => [row.tool, row] as const))("D49: %s", async (tool, { good, answer, keeps, bad, says }) => {
		if (good) {
			const right = await server.call(tool, typeof good === "function" ? await good() : good);
			expect(right.failed, right.text).toBe(false);
			expect(right.json).toMatchObject(answer ?? { status: 204 });
			if (keeps !== undefined) made.set(keeps, right.json);
		}
		const wrong = await server.call(tool, typeof bad === "function" ? bad() : bad);
		expect([wrong.failed, wrong.text]).toEqual([true, expect.stringContaining(says)]);
	});

	it.each(LISTS)("D49: %s", async (tool, answer) => {
		const { failed, json, text } = await server.call(tool, {});
		expect(failed, text).toBe(false);
		expect(json).toMatchObject(answer);
	});

	it.each(UNSUPPORTED)("D49: %s is not available here, and says what to use instead", async (tool, q, instead) => {
		const { failed, text } = await server.call(tool, q);
		expect(failed, text).toBe(true);
		expect(text).toContain("501");
		expect(text).toContain(instead);
	});

	it("D49: each of its tools has been called", async () => {
		const { tools } = await server.ask("tools/list", {});
		const called = [
			...ROWS.map(({ tool }) => tool),
			...LISTS.map(([tool]) => tool),
			...UNSUPPORTED.map(([tool]) => tool),
		];
		expect([...called, ...GRAPHQL].toSorted()).toEqual(tools.map(({ name }: any) => name).toSorted());
	});
});
