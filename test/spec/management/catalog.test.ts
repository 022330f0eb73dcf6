/** The catalog of the management API: what this machine has, and each rule of its queries. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { withSmi } from "../../support/gpu-programs.ts";
import { call, folder, startService, type TestService } from "../../support/service.ts";

const place = folder();
const AVAILABLE = "include=AVAILABILITY&product=SERVERLESS";
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
const centers = async (query: string): Promise<string[]> =>
	(await get(`datacenters?${query}`)).json.dataCenters.map(({ id }: { id: string }) => id);

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

	it.each([
		["", "MEDIUM"],
		["&count=2", "LOW"],
		["&count=3", "NONE"],
		["&minCudaVersion=12", "MEDIUM"],
		["&cudaVersions=12.2,12.4", "MEDIUM"],
		["&cloud=SECURE", "MEDIUM"],
	])("D49: what is free of a model, with %j: %s", async (query, availability) => {
		expect((await get(`${RTX}?${AVAILABLE}${query}`)).json).toMatchObject({
			availability,
			dataCenters: [{ id: "local", availability }],
			cudaVersions: [{ version: "12.2", available: true }],
		});
	});

	it.each(["cloud=COMMUNITY", "countryCodes=DE,FR", "minCudaVersion=12.4", "cudaVersions=11.8"])(
		"D49: no model has %s",
		async (query) => {
			expect((await get(`gpus?${AVAILABLE}&${query}`)).json).toEqual({ gpus: [] });
			expect((await get(`${RTX}?${AVAILABLE}&${query}`)).status).toBe(404);
		},
	);

	it("D49: nothing is free for pods", async () => {
		const { json } = await get("gpus?include=AVAILABILITY&product=POD,CLUSTER");
		expect(json.gpus.map(({ availability }: { availability: string }) => availability)).toEqual(["NONE", "NONE"]);
	});

	it("D49: has one kind of processors and one data centre", async () => {
		const { cpus } = (await get("cpus")).json;
		expect(cpus).toMatchObject([{ id: "local", vcpu: { min: 2 }, price: { securePerVcpu: 0 } }]);
		expect((await get("cpus/local")).json).toEqual(cpus[0]);
		expect((await get(`cpus?${AVAILABLE}&vcpuCount=2`)).json.cpus).toMatchObject([{ availability: "HIGH" }]);
		expect((await get(`cpus?${AVAILABLE}&vcpuCount=1024`)).json.cpus).toMatchObject([{ availability: "NONE" }]);
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

	it.each([
		["regions=EUROPE,UNKNOWN", ["local"]],
		["regions=EUROPE", []],
		["networkVolumeTypes=STANDARD", ["local"]],
		["networkVolumeTypes=STANDARD,HIGH_PERFORMANCE", []],
		["compliance=GDPR", []],
		["globalNetwork=false", ["local"]],
		["globalNetwork=true", []],
		["color=red", ["local"]],
	])("D49: data centres with %s are %j", async (query, ids) => {
		expect(await centers(query)).toEqual(ids);
	});

	it.each(["gpus/NVIDIA%20B200", "cpus/cpu5c", "datacenters/EU-RO-1"])("D49: %s is 404", async (path) => {
		const { status, json } = await get(path);
		expect([status, json.detail]).toEqual([404, expect.stringContaining("GET /v2/catalog/")]);
	});

	it.each([
		["gpus?include=AVAILABILITY", 400, "$.product is required with include=AVAILABILITY."],
		["gpus?product=SERVERLESS", 400, "$.product needs include=AVAILABILITY."],
		[`${RTX}?product=SERVERLESS`, 400, "$.product needs include=AVAILABILITY."],
		["gpus?count=1", 400, "$.count needs include=AVAILABILITY."],
		["gpus?cloud=SECURE", 400, "$.cloud needs include=AVAILABILITY."],
		["gpus?countryCodes=DE", 400, "$.countryCodes needs include=AVAILABILITY."],
		["gpus?cudaVersions=12.4", 400, "$.cudaVersions needs include=AVAILABILITY."],
		["gpus?minCudaVersion=12", 400, "$.minCudaVersion needs include=AVAILABILITY."],
		[`gpus?${AVAILABLE}&cudaVersions=12.4&minCudaVersion=12`, 400, "$.minCudaVersion is not for use with cudaVersions"],
		["cpus?include=AVAILABILITY", 400, "$.product is required"],
		["cpus?product=POD", 400, "$.product needs"],
		["cpus?vcpuCount=4", 400, "$.vcpuCount needs"],
		["gpus?include=ALL", 422, "$.include must be one or more of AVAILABILITY"],
		[`gpus?${AVAILABLE}&product=POD`, 422, "$.product must be given once."],
		["gpus?include=AVAILABILITY&product=GPU", 422, "$.product must be"],
		[`gpus?${AVAILABLE}&count=0`, 422, "$.count must be a whole number from 1"],
		[`gpus?${AVAILABLE}&cloud=PRIVATE`, 422, "$.cloud must be one of SECURE, COMMUNITY"],
		[`gpus?${AVAILABLE}&countryCodes=de`, 422, "$.countryCodes must be"],
		[`gpus?${AVAILABLE}&cudaVersions=12`, 422, "$.cudaVersions must be"],
		[`gpus?${AVAILABLE}&minCudaVersion=new`, 422, "$.minCudaVersion must be a version"],
		["cpus?include=AVAILABILITY&product=CLUSTER", 422, "$.product must be one or more of POD, SERVERLESS"],
		[`cpus?${AVAILABLE}&vcpuCount=3`, 422, "$.vcpuCount must be a power of two"],
		["datacenters?regions=MOON", 422, "$.regions must be"],
		["datacenters?include=AVAILABILITY", 422, "$.include must be"],
		["datacenters?networkVolumeTypes=FAST", 422, "$.networkVolumeTypes must be"],
		["datacenters?compliance=NONE", 422, "$.compliance must be"],
		["datacenters?globalNetwork=yes", 422, "$.globalNetwork must be one of true, false"],
	])("D49: %s is %i", async (path, status, says) => {
		const answer = await get(path);
		expect([answer.status, answer.json.errors]).toEqual([status, [expect.stringContaining(says)]]);
	});
});
