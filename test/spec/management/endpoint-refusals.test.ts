/** What the management API refuses of endpoints: 422 by the schema, 400 by a rule, 404 for what does not exist. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { BODY, CPU_BODY, type Managed, managedService } from "./managed-endpoints.ts";

let service: TestService;
let m: Managed;
/** Without a launcher for new endpoints. */
let without: TestService;

beforeAll(async () => {
	m = await managedService();
	({ service } = m);
	without = await startService({ endpoints: {} });
});
afterAll(async () => {
	await service.end();
	await without.end();
});

const ask: Managed["ask"] = (...q) => m.ask(...q);

describe("endpoints that are refused", () => {
	it.each<[number, string, object, string]>([
		[422, "no name", { name: undefined }, "$.name is missing"],
		[422, "no scaling", { scaling: undefined }, "$.scaling is missing"],
		[422, "no type", { type: undefined }, "$.type is missing"],
		[422, "no image and no template", { image: undefined }, "$.image is missing"],
		[422, "an empty name", { name: "" }, "$.name must be"],
		[422, "an unknown member", { foo: 1 }, "$.foo is unknown"],
		[422, "a text for a number", { disk: "20" }, "$.disk must be"],
		[422, "a disk of 0", { disk: 0 }, "$.disk must be"],
		[422, "a load balancer", { type: "LOAD_BALANCER" }, "no load-balancing endpoints"],
		[422, "a delay below 0.5", { scaling: { type: "QUEUE_DELAY", queueDelay: 0.4 } }, "$.scaling.queueDelay must be"],
		[
			422,
			"a count in parts",
			{ scaling: { type: "REQUEST_COUNT", requestCount: 1.5 } },
			"$.scaling.requestCount must be",
		],
		[422, "another scaling", { scaling: { type: "OTHER" } }, "$.scaling.type must be"],
		[
			422,
			"members of both scalings",
			{ scaling: { type: "QUEUE_DELAY", queueDelay: 1, requestCount: 1 } },
			"is unknown",
		],
		[422, "an idle timeout of 0", { workers: { idleTimeout: 0 } }, "$.workers.idleTimeout must be"],
		[422, "too many workers", { workers: { max: 1001 } }, "$.workers.max must be"],
		[422, "a negative timeout", { timeout: -1 }, "$.timeout must be"],
		[422, "no pool", { gpu: { pools: [] } }, "$.gpu.pools must be"],
		[422, "GPUs without pools", { gpu: { count: 1 } }, "$.gpu.pools is missing"],
		[422, "an exclusion with -", { gpu: { pools: ["ANY"], excludedTypes: ["-x"] } }, "$.gpu.excludedTypes.0 must"],
		[
			422,
			"an exclusion with a space",
			{ gpu: { pools: ["ANY"], excludedTypes: ["x "] } },
			"$.gpu.excludedTypes.0 must",
		],
		[422, "an exclusion twice", { gpu: { pools: ["ANY"], excludedTypes: ["x", "x"] } }, "$.gpu.excludedTypes must"],
		[422, "a CUDA version", { gpu: { pools: ["ANY"], minCudaVersion: "12" } }, "$.gpu.minCudaVersion must be"],
		[422, "one vCPU", { gpu: undefined, cpu: [{ id: "a", vcpuCount: 1 }] }, "$.cpu.0.vcpuCount must be"],
		[422, "a flavour twice", { gpu: undefined, cpu: Array(2).fill({ id: "a", vcpuCount: 2 }) }, "$.cpu must not"],
		[
			422,
			"a flavour twice in other words",
			{
				gpu: undefined,
				cpu: [
					{ id: "a", vcpuCount: 2 },
					{ memory: 4, vcpuCount: 2, id: "a" },
				],
			},
			"$.cpu must not",
		],
		[422, "another flashboot", { flashboot: "ON" }, "$.flashboot must be"],
		[422, "a number in env", { env: { A: 1 } }, "$.env.A must be"],
		[
			422,
			"an idle timeout by count",
			{ scaling: { type: "REQUEST_COUNT", requestCount: 1 }, workers: { idleTimeout: 5 } },
			"idleTimeout does not apply to queue-based endpoints scaling on requestCount",
		],
		[400, "neither gpu nor cpu", { gpu: undefined }, "exactly one of gpu and cpu"],
		[400, "gpu and cpu", { cpu: [{ id: "a", vcpuCount: 2 }] }, "exactly one of gpu and cpu"],
		[400, "min over max", { workers: { min: 2, max: 1 } }, "$.workers.min must not be over workers.max (1)"],
		[400, "a timeout below 5,001 ms", { timeout: 5000 }, "$.timeout must be at least 5001 ms"],
		[400, "6 vCPUs", { gpu: undefined, cpu: [{ id: "a", vcpuCount: 6 }] }, "$.cpu.0.vcpuCount must be a power of two"],
		[
			400,
			"two CUDA rules",
			{ gpu: { pools: ["ANY"], minCudaVersion: "12.4", allowedCudaVersions: ["12.6"] } },
			"$.gpu must not have both",
		],
		[
			400,
			"an exclusion outside of the pools",
			{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA L4"] } },
			"$.gpu.excludedTypes NVIDIA L4 is in none of the pools",
		],
		[
			400,
			"no type left",
			{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA GeForce RTX 4090"] } },
			"$.gpu.excludedTypes must leave at least one type",
		],
		[400, "another data centre", { dataCenterIds: ["EU-RO-1"] }, "$.dataCenterIds.0 must be local"],
		[400, "an image outside of the list", { image: "other:1" }, "management.images"],
		[400, "a folder above the list's", { image: "registry.example/../other:1" }, "management.images"],
		[400, "another registry in an image's name", { image: "registry.example/@other#image" }, "management.images"],
		[400, "a command that differs from its text", { args: "a", cmd: ["b"] }, "must mean the same"],
		[400, "a quote", { cmd: undefined, args: "a 'b'" }, "$.args must have no quotes"],
		[400, "an unknown secret", { env: { A: "{{ RUNPOD_SECRET_none }}" } }, "names the secret 'none'"],
		[404, "an unknown template", { templateId: "none" }, "no template 'none'"],
		[404, "an unknown registry", { registry: "none" }, "no registry 'none'"],
		[404, "an unknown volume", { networkVolumes: ["none"] }, "no network volume 'none'"],
	])("D49: %i for %s at the creation", async (status, _, change, sentence) => {
		const count = service.engine.endpoints.all().length;
		const { status: found, json, text } = await ask("POST", "/serverless", { ...BODY, ...change });
		expect(found, text).toBe(status);
		expect([json.detail, ...(json.errors ?? [])].join("\n")).toContain(sentence);
		if (status === 422) expect(json.errors).toHaveLength(1);
		expect(service.engine.endpoints.all()).toHaveLength(count);
	});

	it.each<[number, string, object, object, string]>([
		[422, "the type", BODY, { type: "QUEUE" }, "$.type is unknown"],
		[422, "exclusions without pools", BODY, { gpu: { excludedTypes: ["x"] } }, "$.gpu.excludedTypes needs gpu.pools"],
		[422, "an idle timeout by count", CPU_BODY, { workers: { idleTimeout: 5 } }, "idleTimeout does not apply"],
		[400, "GPUs for CPU", CPU_BODY, { gpu: { pools: ["ANY"] } }, "$.gpu must be left out"],
		[400, "CPU for GPUs", BODY, { cpu: [{ id: "a", vcpuCount: 2 }] }, "$.cpu must be left out"],
		[400, "both", BODY, { gpu: { count: 1 }, cpu: [{ id: "a", vcpuCount: 2 }] }, "must not have both gpu and cpu"],
		[400, "a second CUDA rule", BODY, { gpu: { allowedCudaVersions: ["12.6"] } }, "must not have both"],
		[400, "min over the max of before", BODY, { workers: { min: 1 } }, "$.workers.min must not be over"],
		[400, "an image outside of the list", BODY, { image: "other:1" }, "management.images"],
	])("D49: %i for %s in a change", async (status, _, body, change, sentence) => {
		const { id } = await m.made(body);
		const before = m.settingsOf(id);
		const { status: found, json, text } = await ask("PATCH", `/serverless/${id}`, change);
		expect(found, text).toBe(status);
		expect([json.detail, ...(json.errors ?? [])].join("\n")).toContain(sentence);
		expect(m.settingsOf(id)).toEqual(before);
	});

	it("D49: text that is no JSON is 400, another value than an object 422, over 1 MiB 413", async () => {
		for (const [text, status] of [
			["{", 400],
			["[]", 422],
			[JSON.stringify({ name: "x".repeat(2 ** 20) }), 413],
		] as const) {
			const answer = await call(service.url, "/v2/serverless", { method: "POST", text });
			expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
		}
	});

	it("D49: an endpoint of sluice.yaml can be read, and is changed there", async () => {
		expect((await ask("GET", "/serverless/file")).status).toBe(200);
		for (const [method, body] of [["PATCH", { name: "x" }], ["DELETE"]] as const) {
			const { status, json } = await ask(method, "/serverless/file", body);
			expect([status, json.detail]).toEqual([400, expect.stringContaining("is defined in sluice.yaml")]);
		}
	});

	it("D49: without management.launcher reading works, and creation says what to set", async () => {
		expect((await call(without.url, "/v2/serverless")).json.endpoints).toEqual([]);
		const { status, json } = await call(without.url, "/v2/serverless", { body: BODY });
		expect([status, json.detail]).toEqual([400, expect.stringContaining("set management.launcher in sluice.yaml")]);
	});
});
