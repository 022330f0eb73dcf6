/** What the daemon is asked for to make the two containers of a worker with an adapter, without a daemon. */
import { describe, expect, it } from "vitest";
import { MAPPING_VARIABLE, workerEnv } from "../../../kernel/core/workers/worker-env.ts";
import type { InspectedContainer } from "../daemon.ts";
import type { DockerSettings } from "../settings.ts";
import { adapterOptions, type AdapterSpec, serverAddress, serverOptions } from "./options.ts";

const url = "http://127.0.0.1:8080";
const workerId = "ocr-0a1b2c3d4e5f";

function specOf(settings: Partial<DockerSettings> = {}, change: Partial<AdapterSpec> = {}): AdapterSpec {
	return {
		workerId,
		endpoint: "ocr",
		settings: { type: "docker", image: "vllm:1", ...settings },
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
		serviceId: "store-1",
		url,
		env: {
			MODEL: "small",
			TOKEN: "secret",
			[MAPPING_VARIABLE]: '{"port":8000,"request":{"path":"/x"}}',
			...workerEnv({ url, endpoint: "ocr", worker: workerId, token: "key", leaseMs: 20_000 }),
		},
		adapter: { mapping: '{"port":8000,"request":{"path":"/x"}}', port: 8000 },
		...change,
	};
}

const context = { network: "host" };
const image = "sluice-adapter:1";
const address = "http://172.17.0.9:8000";

const variables = (env: readonly string[]): Record<string, string> =>
	Object.fromEntries(env.map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]));

describe("the server's container", () => {
	it("has the endpoint's variables, and none that gives access to the service", () => {
		expect(variables(serverOptions(specOf(), context).Env)).toEqual({
			MODEL: "small",
			TOKEN: "secret",
			PORT: "8000",
			RUNPOD_POD_HOSTNAME: workerId,
		});
	});

	it("has all that the settings say, on a bridge, without a port of the machine", () => {
		const settings = { command: ["--port", "{port}"], memory: "8g", cpus: 2, volumes: ["/m:/m"], shmSize: "1g" };
		const placed = { ...context, gpus: ["GPU-1"], gpuSizeGb: 40 };
		const options = serverOptions(specOf(settings, { gpuMemoryGb: 10 }), placed);
		expect(options).toMatchObject({
			name: "sluice-ocr-0a1b2c3d4e5f-server",
			Image: "vllm:1",
			Cmd: ["--port", "8000"],
			Labels: {
				"sluice.service": "store-1",
				"sluice.worker": workerId,
				"sluice.part": "server",
				"sluice.gpus": "GPU-1",
				"sluice.gpu-memory-gb": "10",
			},
			HostConfig: {
				NetworkMode: "bridge",
				RestartPolicy: { Name: "no" },
				Memory: 8 * 1024 ** 3,
				ShmSize: 1024 ** 3,
				NanoCpus: 2e9,
				Binds: ["/m:/m"],
				DeviceRequests: [{ DeviceIDs: ["GPU-1"], Capabilities: [["gpu"]] }],
			},
		});
		expect(JSON.stringify(options)).not.toMatch(/PortBindings|ExposedPorts|PublishAllPorts/);
		expect(options.Env).toContain("GPU_MEMORY_UTILIZATION=0.25");
	});

	it("keeps addresses in its variables, and a PORT of the endpoint", () => {
		const spec = specOf({ network: "jobs" }, { env: { PORT: "9", AT: `${url}/x` } });
		const options = serverOptions(spec, { network: "jobs", machine: "172.18.0.1" });
		expect(variables(options.Env)).toMatchObject({ PORT: "9", AT: `${url}/x` });
		expect(options.HostConfig).not.toHaveProperty("ExtraHosts");
	});
});

describe("the adapter's container", () => {
	it("is the worker's: its variables, name and labels, with the address of the server", () => {
		const options = adapterOptions(specOf(), context, { image, address });
		expect(variables(options.Env)).toEqual({
			...specOf().env,
			RUNPOD_POD_HOSTNAME: workerId,
			SLUICE_HTTP: '{"request":{"path":"/x"},"url":"http://172.17.0.9:8000"}',
		});
		expect(options).toMatchObject({
			name: "sluice-ocr-0a1b2c3d4e5f",
			Image: image,
			Entrypoint: ["sluice-http"],
			Labels: { "sluice.service": "store-1", "sluice.worker": workerId, "sluice.part": "adapter" },
			HostConfig: { NetworkMode: "host" },
		});
		expect(options).not.toHaveProperty("Cmd");
	});

	it("gets nothing that is the server's: GPUs, volumes, memory, and variables for programs of its image", () => {
		const settings: Partial<DockerSettings> = { gpus: "all", memory: "8g", volumes: ["/m:/m"], command: ["x"] };
		const ofServer = { PATH: "/opt/bin", LD_PRELOAD: "/x.so", NODE_OPTIONS: "--inspect", TMPDIR: "/scratch" };
		const spec = specOf(settings, { gpus: [0], gpuMemoryGb: 10, env: { ...ofServer, A: "1" } });
		const options = adapterOptions(spec, { ...context, gpus: ["GPU-1"], gpuSizeGb: 40 }, { image, address });
		expect(Object.keys(variables(options.Env))).toEqual(["RUNPOD_POD_HOSTNAME", "A", "SLUICE_HTTP"]);
		expect(Object.keys(options.HostConfig).toSorted()).toEqual(
			["Init", "LogConfig", "NetworkMode", "RestartPolicy", "ShmSize"].toSorted(),
		);
		expect(options.Labels).not.toHaveProperty("sluice.gpus");
		expect(variables(serverOptions(spec, context).Env)).toMatchObject(ofServer);
	});

	it("reaches a service on loopback by the name of the machine, on a network of its own", () => {
		const jobs = { network: "jobs", machine: "172.18.0.1" };
		const options = adapterOptions(specOf({ network: "jobs" }), jobs, { image, address });
		expect(variables(options.Env)["RUNPOD_WEBHOOK_PING"]).toMatch(/^http:\/\/host\.docker\.internal:8080\//);
		expect(options.HostConfig).toMatchObject({ NetworkMode: "jobs", ExtraHosts: ["host.docker.internal:172.18.0.1"] });
	});
});

describe("serverAddress", () => {
	const on = (networks: InspectedContainer["NetworkSettings"], isRunning = true): InspectedContainer =>
		({ State: { Running: isRunning }, NetworkSettings: networks }) as InspectedContainer;

	it.each<[string | undefined, InspectedContainer, string]>([
		[undefined, on({ Networks: { bridge: { IPAddress: "172.17.0.9" } } }), "http://172.17.0.9:8000"],
		["bridge", on({ Networks: { bridge: { IPAddress: "172.17.0.9" } } }), "http://172.17.0.9:8000"],
		[undefined, on({ Networks: { podman: { GlobalIPv6Address: "fd00::9" } } }), "http://[fd00::9]:8000"],
		["host", on({ Networks: { host: { IPAddress: "" } } }), "http://127.0.0.1:8000"],
		["jobs", on({ Networks: { jobs: { IPAddress: "172.18.0.2" } } }), "http://server-0a1b2c3d4e5f:8000"],
	])("network %s", (network, inspected, expected) => {
		expect(serverAddress(specOf(network === undefined ? {} : { network }), inspected)).toBe(expected);
	});

	it("is the name that the server has in its network, however long the endpoint's id is", () => {
		const long = `${"e".repeat(63)}-0a1b2c3d4e5f`;
		const spec = specOf({ network: "jobs" }, { workerId: long });
		const options = serverOptions(spec, { network: "jobs" });
		const { hostname } = new URL(serverAddress(spec, on({}))!);
		expect(options.NetworkingConfig).toEqual({ EndpointsConfig: { jobs: { Aliases: [hostname] } } });
		expect(hostname.length).toBeLessThan(64);
		expect(serverOptions(specOf(), context)).not.toHaveProperty("NetworkingConfig");
	});

	it("is undefined for a server that has ended, and missing where the network gives none", () => {
		expect(serverAddress(specOf(), on({ Networks: {} }, false))).toBeUndefined();
		expect(() => serverAddress(specOf(), on({ Networks: {} }))).toThrow(
			'the Docker network "bridge" gives the server no address: set network',
		);
	});
});
