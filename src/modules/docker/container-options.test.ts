/** What the daemon is asked for, without a daemon. */
import { describe, expect, it } from "vitest";
import { workerEnv } from "../../kernel/core/workers/worker-env.ts";
import { loopbackOf } from "../../kernel/launchers/loopback.ts";
import { containerOptions } from "./container-options.ts";
import type { WorkerSpec } from "../../kernel/launchers/launcher.ts";
import type { DockerSettings } from "./settings.ts";

const url = "http://127.0.0.1:8080";
const plain: DockerSettings = { type: "docker", image: "ocr:1" };
const spec: WorkerSpec<DockerSettings> = {
	workerId: "ocr-0a1b2c3d",
	endpoint: "ocr",
	settings: plain,
	gpus: [],
	gpuCount: 0,
	workersMax: 3,
	stopGraceMs: 5000,
	serviceId: "store-1",
	url,
	env: {
		MODEL: "small",
		...workerEnv({ url, endpoint: "ocr", worker: "ocr-0a1b2c3d", token: "t", leaseMs: 20_000 }),
	},
};
const host = { network: "host" };

describe("containerOptions", () => {
	it("D44: a part of a host's GPU is in a label and in variables, which those of the endpoint override", () => {
		const part = { ...spec, gpuMemoryGb: 10, env: { ...spec.env, GPU_MEMORY_UTILIZATION: "0.3" } };
		const { Env, Labels } = containerOptions(part, { ...host, gpus: ["GPU-1"], gpuSizeGb: 40 });
		expect(Labels).toMatchObject({ "sluice.gpus": "GPU-1", "sluice.gpu-memory-gb": "10" });
		expect(Env).toEqual(expect.arrayContaining(["SLUICE_GPU_MEMORY_FRACTION=0.25", "GPU_MEMORY_UTILIZATION=0.3"]));
		expect(Env).not.toContain("GPU_MEMORY_UTILIZATION=0.25");
	});

	it.each<[Partial<DockerSettings>, object]>([
		[{}, {}],
		[{ command: ["-u", "h.py"] }, { Cmd: ["-u", "h.py"] }],
		[{ entrypoint: ["python"] }, { Entrypoint: ["python"] }],
		[
			{ entrypoint: ["python"], command: ["-u"] },
			{ Entrypoint: ["python"], Cmd: ["-u"] },
		],
	])("D25: ENTRYPOINT and CMD are replaced each by its own setting: %j", (change, replaced) => {
		const { Entrypoint, Cmd } = containerOptions({ ...spec, settings: { ...plain, ...change } }, host);
		expect({ Entrypoint, Cmd }).toEqual({ Entrypoint: undefined, Cmd: undefined, ...replaced });
	});

	it("D25: of the fewest settings", () => {
		expect(containerOptions(spec, host)).toMatchInlineSnapshot(`
			{
			  "Env": [
			    "RUNPOD_POD_HOSTNAME=ocr-0a1b2c3d",
			    "MODEL=small",
			    "RUNPOD_WEBHOOK_GET_JOB=http://127.0.0.1:8080/worker/ocr/job-take/ocr-0a1b2c3d?gpu=none",
			    "RUNPOD_WEBHOOK_POST_OUTPUT=http://127.0.0.1:8080/worker/ocr/job-done/ocr-0a1b2c3d/$ID?gpu=none",
			    "RUNPOD_WEBHOOK_POST_STREAM=http://127.0.0.1:8080/worker/ocr/job-stream/ocr-0a1b2c3d/$ID?gpu=none",
			    "RUNPOD_WEBHOOK_PING=http://127.0.0.1:8080/worker/ocr/ping/ocr-0a1b2c3d?gpu=none",
			    "RUNPOD_AI_API_KEY=t",
			    "RUNPOD_POD_ID=ocr-0a1b2c3d",
			    "RUNPOD_ENDPOINT_ID=ocr",
			    "RUNPOD_PING_INTERVAL=5000",
			    "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true",
			  ],
			  "HostConfig": {
			    "Init": true,
			    "LogConfig": {
			      "Config": {
			        "max-file": "2",
			        "max-size": "16m",
			      },
			      "Type": "json-file",
			    },
			    "NetworkMode": "host",
			    "RestartPolicy": {
			      "Name": "no",
			    },
			    "ShmSize": 8589934592,
			    "Ulimits": [
			      {
			        "Hard": -1,
			        "Name": "memlock",
			        "Soft": -1,
			      },
			      {
			        "Hard": 67108864,
			        "Name": "stack",
			        "Soft": 67108864,
			      },
			    ],
			  },
			  "Image": "ocr:1",
			  "Labels": {
			    "sluice.endpoint": "ocr",
			    "sluice.service": "store-1",
			    "sluice.worker": "ocr-0a1b2c3d",
			  },
			  "name": "sluice-ocr-0a1b2c3d",
			}
		`);
	});

	it("D25: of all settings", () => {
		const all: DockerSettings = {
			...plain,
			command: ["python", "-u", "h.py"],
			memory: "2g",
			cpus: 1.5,
			volumes: ["/models:/models:ro", "cache:/cache"],
			network: "jobs",
			gpus: "all",
		};
		const { Env, ...options } = containerOptions(
			{ ...spec, settings: all },
			{
				network: "jobs",
				machine: "172.18.0.1",
			},
		);
		expect(options).toMatchInlineSnapshot(`
			{
			  "Cmd": [
			    "python",
			    "-u",
			    "h.py",
			  ],
			  "HostConfig": {
			    "Binds": [
			      "/models:/models:ro",
			      "cache:/cache",
			    ],
			    "DeviceRequests": [
			      {
			        "Capabilities": [
			          [
			            "gpu",
			          ],
			        ],
			        "Count": -1,
			      },
			    ],
			    "ExtraHosts": [
			      "host.docker.internal:172.18.0.1",
			    ],
			    "Init": true,
			    "LogConfig": {
			      "Config": {
			        "max-file": "2",
			        "max-size": "16m",
			      },
			      "Type": "json-file",
			    },
			    "Memory": 2147483648,
			    "NanoCpus": 1500000000,
			    "NetworkMode": "jobs",
			    "RestartPolicy": {
			      "Name": "no",
			    },
			    "ShmSize": 1073741824,
			    "Ulimits": [
			      {
			        "Hard": -1,
			        "Name": "memlock",
			        "Soft": -1,
			      },
			      {
			        "Hard": 67108864,
			        "Name": "stack",
			        "Soft": 67108864,
			      },
			    ],
			  },
			  "Image": "ocr:1",
			  "Labels": {
			    "sluice.endpoint": "ocr",
			    "sluice.service": "store-1",
			    "sluice.worker": "ocr-0a1b2c3d",
			  },
			  "name": "sluice-ocr-0a1b2c3d",
			}
		`);
		expect(Env?.filter((each) => each.includes("://"))).toMatchInlineSnapshot(`
			[
			  "RUNPOD_WEBHOOK_GET_JOB=http://host.docker.internal:8080/worker/ocr/job-take/ocr-0a1b2c3d?gpu=none",
			  "RUNPOD_WEBHOOK_POST_OUTPUT=http://host.docker.internal:8080/worker/ocr/job-done/ocr-0a1b2c3d/$ID?gpu=none",
			  "RUNPOD_WEBHOOK_POST_STREAM=http://host.docker.internal:8080/worker/ocr/job-stream/ocr-0a1b2c3d/$ID?gpu=none",
			  "RUNPOD_WEBHOOK_PING=http://host.docker.internal:8080/worker/ocr/ping/ocr-0a1b2c3d?gpu=none",
			]
		`);
	});

	it("D25: an address that is not of this machine alone stays as it is", () => {
		const far = {
			...spec,
			url: "https://jobs.example.com",
			env: { A: "https://jobs.example.com/worker/x" },
		};
		expect(containerOptions(far, { network: "jobs" }).Env).toContain("A=https://jobs.example.com/worker/x");
		const values = {
			...spec,
			env: { A: "http://127.0.0.1:80801/x", B: "see http://127.0.0.1:8080/" },
		};
		expect(containerOptions(values, { network: "jobs" }).Env, "other values stay too").toEqual([
			"RUNPOD_POD_HOSTNAME=ocr-0a1b2c3d",
			"A=http://127.0.0.1:80801/x",
			"B=see http://127.0.0.1:8080/",
		]);
	});

	it.each([
		["all", undefined, { Count: -1 }],
		[2, undefined, { Count: 2 }],
		[[0, "GPU-1a"], undefined, { DeviceIDs: ["0", "GPU-1a"] }],
		["all", [1, 3], { DeviceIDs: ["1", "3"] }],
		[2, [], { Count: 2 }],
	] as const)("GPUs: of the settings %j and the assigned %j", (gpus, assigned, which) => {
		const set = { ...plain, gpus } as DockerSettings;
		const { HostConfig } = containerOptions({ ...spec, settings: set, gpus: assigned ?? [] }, host);
		expect(HostConfig?.DeviceRequests).toEqual([{ ...which, Capabilities: [["gpu"]] }]);
	});

	it.each([[0], [[]], [undefined]] as const)("GPUs: none of %j", (gpus) => {
		expect(
			containerOptions(
				{
					...spec,
					settings: { ...plain, ...(gpus === undefined ? {} : { gpus }) } as DockerSettings,
				},
				host,
			).HostConfig,
		).not.toHaveProperty("DeviceRequests");
	});

	it.each<[string, Partial<DockerSettings>, number]>([
		["8 GiB by default", {}, 8_589_934_592],
		["half of the memory", { memory: "12g" }, 6_442_450_944],
		["at least Docker's own default", { memory: "64m" }, 67_108_864],
		["shmSize", { memory: "12g", shmSize: "1g" }, 1_073_741_824],
	])("D25: /dev/shm: %s", (_, settings, bytes) => {
		expect(containerOptions({ ...spec, settings: { ...plain, ...settings } }, host).HostConfig.ShmSize).toBe(bytes);
	});

	it("D25: no limits are raised where the daemon has no right to", () => {
		expect(containerOptions(spec, { ...host, raisesLimits: false }).HostConfig).not.toHaveProperty("Ulimits");
	});

	it("D36: variables of RunPod's machines, never over those of the endpoint", () => {
		const settings: DockerSettings = { ...plain, cpus: 4, memory: "16g", volumes: ["m:/runpod-volume"] };
		const q = { ...spec, settings, env: { RUNPOD_CPU_COUNT: "3" } };
		expect(containerOptions(q, { ...host, gpus: ["GPU-1", "GPU-2"], place: "rig1" }).Env).toEqual([
			"RUNPOD_POD_HOSTNAME=ocr-0a1b2c3d",
			"RUNPOD_GPU_COUNT=2",
			"RUNPOD_CPU_COUNT=3",
			"RUNPOD_MEM_GB=16",
			"RUNPOD_DC_ID=rig1",
			"RUNPOD_VOLUME_ID=m",
		]);
	});

	it.each([
		["512m", 536_870_912],
		["8G", 8_589_934_592],
		["64k", 65_536],
		["7000000b", 7_000_000],
		["7000000", 7_000_000],
		[7_000_000, 7_000_000],
	])("memory: %j", (memory, bytes) => {
		expect(containerOptions({ ...spec, settings: { ...plain, memory } }, host).HostConfig?.Memory).toBe(bytes);
	});
});

describe("loopbackOf", () => {
	it.each([
		["http://127.0.0.1:8080", 8080],
		["http://localhost", 80],
		["https://[::1]", 443],
		["http://127.9.9.9:1", 1],
	])("%s is this machine's own", (address, port) => {
		expect(loopbackOf(address)).toEqual({ port });
	});

	it.each(["http://10.0.0.1:8080", "https://jobs.example.com"])("%s is not", (address) => {
		expect(loopbackOf(address)).toBeUndefined();
	});
});
