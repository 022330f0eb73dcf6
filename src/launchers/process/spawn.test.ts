/** The environment of a worker's process. */
import { describe, expect, it } from "vitest";
import { environmentOf } from "./spawn.ts";

const serviceEnv = { PATH: "/bin", HOME: "/root", CUDA_VISIBLE_DEVICES: "" };
const worker = { env: { A: "1", HOME: "/h" }, serviceId: "store", gpus: [] };

describe("environmentOf", () => {
	it("D25: a process gets the environment of the service under its own, its mark and its GPUs", () => {
		expect(environmentOf({ ...worker, gpus: [1, 3] }, serviceEnv)).toEqual({
			PATH: "/bin",
			HOME: "/h",
			A: "1",
			SLUICE_SERVICE_ID: "store",
			CUDA_VISIBLE_DEVICES: "1,3",
		});
	});

	it("D25: without GPUs of its own it keeps what the service says", () => {
		expect(environmentOf(worker, serviceEnv)).toMatchObject({ CUDA_VISIBLE_DEVICES: "" });
	});
});
