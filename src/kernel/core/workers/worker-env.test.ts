/** The variables of a worker, as protocol B.1 wants them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gpuPartEnv, machineEnv, pingIntervalMs, workerEnv } from "./worker-env.ts";

describe("worker-env", () => {
	it("D36: the variables, with the id of the worker and the placeholder of the job's", () => {
		expect(workerEnv({ url: "http://h:1", endpoint: "e", worker: "w", token: "t", leaseMs: 20_000 })).toEqual({
			RUNPOD_WEBHOOK_GET_JOB: "http://h:1/worker/e/job-take/w?gpu=none",
			RUNPOD_WEBHOOK_POST_OUTPUT: "http://h:1/worker/e/job-done/w/$ID?gpu=none",
			RUNPOD_WEBHOOK_POST_STREAM: "http://h:1/worker/e/job-stream/w/$ID?gpu=none",
			RUNPOD_WEBHOOK_PING: "http://h:1/worker/e/ping/w?gpu=none",
			RUNPOD_AI_API_KEY: "t",
			RUNPOD_POD_ID: "w",
			RUNPOD_ENDPOINT_ID: "e",
			RUNPOD_PING_INTERVAL: "5000",
			RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
		});
	});

	it("D36: for many replicas the worker id comes from elsewhere", () => {
		const env = workerEnv({ url: "http://h:1", endpoint: "e", token: "t", leaseMs: 20_000 });
		expect(env).not.toHaveProperty("RUNPOD_POD_ID");
		expect(env).toMatchObject({
			RUNPOD_WEBHOOK_GET_JOB: "http://h:1/worker/e/job-take/$ID?gpu=none",
			RUNPOD_WEBHOOK_POST_OUTPUT: "http://h:1/worker/e/job-done/$RUNPOD_POD_ID/$ID?gpu=none",
			RUNPOD_WEBHOOK_PING: "http://h:1/worker/e/ping/$RUNPOD_POD_ID?gpu=none",
		});
	});

	it("D36: variables of RunPod's machines, as far as they are known", () => {
		expect(machineEnv({ worker: "w", gpus: 0 })).toEqual({ RUNPOD_POD_HOSTNAME: "w" });
		for (const folder of ["/srv/models", "./models", "~/models"])
			expect(machineEnv({ worker: "w", gpus: 0, volumes: [`${folder}:/runpod-volume`] })).not.toHaveProperty(
				"RUNPOD_VOLUME_ID",
			);
		const volumes = ["cache:/cache", "models:/runpod-volume:ro"];
		expect(machineEnv({ worker: "w", gpus: 2, cpus: 0.5, memoryBytes: 8.5 * 2 ** 30, place: "rig1", volumes })).toEqual(
			{
				RUNPOD_POD_HOSTNAME: "w",
				RUNPOD_GPU_COUNT: "2",
				RUNPOD_CPU_COUNT: "1",
				RUNPOD_MEM_GB: "8",
				RUNPOD_DC_ID: "rig1",
				RUNPOD_VOLUME_ID: "models",
			},
		);
	});

	it("D27: a worker learns its part of a GPU, rounded down, and never as none of it", () => {
		expect(gpuPartEnv(10, 24.2)).toEqual({
			SLUICE_GPU_MEMORY_GB: "10",
			SLUICE_GPU_MEMORY_FRACTION: "0.413",
			GPU_MEMORY_UTILIZATION: "0.413",
			XLA_PYTHON_CLIENT_MEM_FRACTION: "0.413",
		});
		expect(gpuPartEnv(0.1, 192)).toMatchObject({ SLUICE_GPU_MEMORY_FRACTION: "0.001" });
	});

	it("D16: the SDK's default lease pings every 5 s", () => {
		expect([2000, 8000, 20_000, 600_000].map(pingIntervalMs)).toEqual([1000, 2000, 5000, 5000]);
	});

	it("B.1: a ping interval is whole seconds from 1 to 5; a lease of 4 s or more outlives three lost pings", () => {
		fc.assert(
			fc.property(fc.integer({ min: 2000, max: 600_000 }), (leaseMs) => {
				const interval = pingIntervalMs(leaseMs);
				expect(interval % 1000).toBe(0);
				expect(interval).toBeGreaterThanOrEqual(1000);
				expect(interval).toBeLessThanOrEqual(5000);
				if (leaseMs >= 4000) expect(interval * 4).toBeLessThanOrEqual(leaseMs);
			}),
		);
	});
});
