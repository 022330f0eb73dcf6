/** What launchers are asked for, and when a worker counts as started with other settings. */
import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../core/endpoints/endpoint.ts";
import { launchHash } from "../../endpoints/launch-hash.ts";
import { isWorkerOf, workerSpec } from "./worker-spec.ts";
import { readEndpoint } from "../../../launchers/endpoint-settings.ts";

function endpoint(settings: object): Endpoint {
	const read = readEndpoint("ocr", settings);
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return read.endpoint;
}

const given = {
	id: "ocr-0123456789ab",
	token: "t",
	gpus: { gpus: [] },
	url: "http://127.0.0.1:1",
	serviceId: "store",
	isRolling: false,
};
const container = endpoint({
	launcher: { type: "docker", image: "i", command: ["w"] },
	env: { A: "1" },
});

describe("workerSpec", () => {
	it("D25: a worker gets its own environment and its GPUs; the settings are for its launcher", () => {
		const { env, ...spec } = workerSpec({ ...given, endpoint: container, gpus: { gpus: [1, 3] } });
		expect(spec).toEqual({
			workerId: given.id,
			endpoint: "ocr",
			settings: container.launcher,
			url: given.url,
			serviceId: "store",
			gpus: [1, 3],
			gpuCount: 0,
			priority: "normal",
			workersMax: 3,
			stopGraceMs: 5000,
		});
		expect(workerSpec({ ...given, isRolling: true, endpoint: container }).workersMax).toBe(4);
		expect(env).toMatchObject({ A: "1", RUNPOD_POD_ID: given.id });
		expect(Object.keys(env).filter((name) => !name.startsWith("RUNPOD_"))).toEqual(["PYTHONUNBUFFERED", "A"]);
	});

	it("D27: a worker with a part of a GPU learns it, and the endpoint's variables count more", () => {
		const shared = endpoint({ launcher: { type: "process", command: ["w"] }, gpuMemoryGb: 6, env: { A: "1" } });
		const spec = workerSpec({ ...given, endpoint: shared, gpus: { gpus: [0], sizeGb: 24 } });
		expect(spec).toMatchObject({ gpuCount: 1, gpuMemoryGb: 6, env: { GPU_MEMORY_UTILIZATION: "0.25" } });
		const own = { ...shared, env: { GPU_MEMORY_UTILIZATION: "0.2" } };
		expect(workerSpec({ ...given, endpoint: own, gpus: { gpus: [0], sizeGb: 24 } }).env).toMatchObject({
			SLUICE_GPU_MEMORY_FRACTION: "0.25",
			GPU_MEMORY_UTILIZATION: "0.2",
		});
	});
});

describe("workerSpec of an adapter", () => {
	it("has its mapping in a variable, which the endpoint's own cannot replace", () => {
		const adapter = { mapping: '{"port":1}', port: 1 };
		const own = { ...container, env: { SLUICE_HTTP: "{}" } };
		expect(workerSpec({ ...given, endpoint: own, adapter })).toMatchObject({
			adapter,
			env: { SLUICE_HTTP: adapter.mapping },
		});
	});
});

describe("launchHash", () => {
	const of = (settings: object): string => launchHash(endpoint(settings));
	const docker = (more: object = {}): object => ({
		launcher: { type: "docker", image: "i:1", command: ["a", "b"], ...more },
		env: { A: "1", B: "2" },
	});

	it("changes with whatever a worker is started with", () => {
		const hashes = [
			docker(),
			docker({ image: "i:2" }),
			docker({ command: ["b", "a"] }),
			docker({ command: ["a b"] }),
			docker({ memory: "1g" }),
			{ ...docker(), env: { A: "1" } },
			{ ...docker(), gpusPerWorker: 1 },
			{ ...docker(), gpusPerWorker: 2 },
			{ ...docker(), gpuMemoryGb: 10 },
			{ ...docker(), gpuMemoryGb: 20 },
			{ ...docker(), env: { A: "2", B: "1" } },
			{ launcher: { type: "external" }, env: { A: "1", B: "2" } },
		].map(of);
		expect(new Set(hashes).size).toBe(hashes.length);
	});

	it("changes with settings of modules, not with the order of their members at any depth", () => {
		const hashes = [
			{},
			{ ruled: { by: { a: 1, b: [1, 2] }, c: 3 } },
			{ ruled: { by: { a: 1, b: [2, 1] }, c: 3 } },
			{ ruled: { by: { a: 1, b: [1, 2], c: 3 } } },
			{ other: { by: { a: 1, b: [1, 2] }, c: 3 } },
		].map((more) => launchHash({ ...container, ...more }));
		expect(new Set(hashes).size).toBe(hashes.length);
		expect(launchHash({ ...container, ...{ ruled: { c: 3, by: { b: [1, 2], a: 1 } } } })).toBe(hashes[1]);
	});

	it("is that of earlier versions of Sluice where nothing is a module's", () => {
		const members = [
			[
				["command", ["w"]],
				["image", "i"],
				["type", "docker"],
			],
			[["A", "1"]],
		];
		expect(launchHash(container)).toBe(hash("sha256", JSON.stringify(members), "hex"));
	});

	it("does not change with what is no matter of the start, nor with the order of members", () => {
		expect(of({ ...docker(), workersMax: 7, idleTimeout: 1, name: "x" })).toBe(of(docker()));
		expect(
			of({
				env: { B: 2, A: "1" },
				launcher: { command: ["a", "b"], image: "i:1", type: "docker", memory: null },
			}),
		).toBe(of(docker()));
	});
});

describe("isWorkerOf", () => {
	it("D30: an id belongs to one endpoint at most", () => {
		const id = fc.stringMatching(/^[a-f0-9-]{1,20}$/);
		fc.assert(
			fc.property(id, id, fc.stringMatching(/^[0-9a-f]{12}$/), (one, other, end) => {
				expect(isWorkerOf(one, `${one}-${end}`)).toBe(true);
				expect(isWorkerOf(other, `${one}-${end}`)).toBe(one === other);
			}),
		);
		for (const worker of ["ocr", "ocr-", "ocr-0123", "ocr-0123456789AB", "../ocr-0123456789ab", "ocr-0123456789ab/.."])
			expect(isWorkerOf("ocr", worker), worker).toBe(false);
	});
});
