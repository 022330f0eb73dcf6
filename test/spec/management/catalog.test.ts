/** The catalog of the management API: what this machine has, and what is free of it. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { withSmi } from "../../support/gpu-programs.ts";
import { call, folder, startService, type TestService } from "../../support/service.ts";

const place = folder();
let service: TestService;

beforeAll(async () => {
	withSmi(place.path, [
		{ uuid: "GPU-a", model: "NVIDIA GeForce RTX 4090", mib: 24_564 },
		{ uuid: "GPU-b", model: "NVIDIA GeForce RTX 4090", mib: 24_564 },
		{ uuid: "GPU-c", model: "NVIDIA GeForce GTX 1080 Ti", mib: 11_264 },
	]);
	service = await startService({ in: place, endpoints: {}, settings: { gpus: 3 } });
});
afterAll(async () => {
	await service.end();
	place.remove();
	vi.unstubAllEnvs();
});

const get = (path: string) => call(service.url, `/v2/catalog/${path}`);
const RTX = "gpus/NVIDIA%20GeForce%20RTX%204090";
describe("catalog", () => {
	it("D49: has the GPU models of this machine with the pool of RunPod that has them, without prices", async () => {
		const { status, json } = await get("gpus");
		expect(status).toBe(200);
		expect(json.gpus).toEqual([
			{
				id: "NVIDIA GeForce RTX 4090",
				name: "RTX 4090",
				pool: "ADA_24",
				manufacturer: "NVIDIA",
				memory: 24,
				secure: true,
				community: false,
				price: { secure: 0, community: 0 },
				maxCount: { secure: 2, community: 0 },
			},
			expect.objectContaining({ id: "NVIDIA GeForce GTX 1080 Ti", pool: null, memory: 11 }),
		]);
		expect((await get(RTX)).json).toEqual(json.gpus[0]);
	});

	it("D49: include has what is free of a model; filters are ignored", async () => {
		for (const query of ["", "&product=SERVERLESS", "&count=9&cloud=COMMUNITY&minCudaVersion=99"])
			expect((await get(`${RTX}?include=AVAILABILITY${query}`)).json).toMatchObject({
				availability: "MEDIUM",
				dataCenters: [{ id: "local", availability: "MEDIUM" }],
				cudaVersions: [{ version: "12.2", available: true }],
			});
	});

	it("D49: has one kind of processors and one data centre", async () => {
		const { cpus } = (await get("cpus")).json;
		expect(cpus).toMatchObject([{ id: "local", vcpu: { min: 2 }, price: { securePerVcpu: 0 } }]);
		expect((await get("cpus/local")).json).toEqual(cpus[0]);
		expect((await get("cpus?include=AVAILABILITY")).json.cpus).toMatchObject([{ availability: "HIGH" }]);
		const center = { id: "local", name: "Local", region: "UNKNOWN", globalNetwork: false, compliance: [] };
		expect((await get("datacenters")).json).toEqual({ dataCenters: [{ ...center, networkVolumeTypes: ["STANDARD"] }] });
		expect((await get("datacenters/local?include=GPU_AVAILABILITY,CPU_AVAILABILITY")).json).toMatchObject({
			gpuAvailability: [
				{ id: "NVIDIA GeForce RTX 4090", name: "RTX 4090", availability: "MEDIUM" },
				{ name: "GTX 1080 Ti", availability: "LOW" },
			],
			cpuAvailability: [{ id: "local", availability: "HIGH" }],
		});
	});

	it.each(["gpus/NVIDIA%20B200", "cpus/cpu5c", "datacenters/EU-RO-1"])("D49: %s is 404", async (path) => {
		const { status, json } = await get(path);
		expect([status, json.detail]).toEqual([404, expect.stringContaining("GET /v2/catalog/")]);
	});

	it.each([
		["gpus?include=ALL", "$.include must be one or more of AVAILABILITY"],
		["gpus?include=AVAILABILITY&include=AVAILABILITY", "$.include must be given once."],
		["cpus/local?include=ALL", "$.include must be"],
		["datacenters?include=AVAILABILITY", "$.include must be"],
	])("D49: %s is 422", async (path, says) => {
		const answer = await get(path);
		expect([answer.status, answer.json.errors]).toEqual([422, [expect.stringContaining(says)]]);
	});
});
