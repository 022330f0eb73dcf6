/** A service whose management API creates endpoints for the launcher docker; no worker is started. */
import { expect } from "vitest";
import type { Endpoint } from "../../../src/kernel/core/endpoints/endpoint.ts";
import { call, startService, type TestService } from "../../support/service.ts";

export const BODY = {
	name: "captions",
	type: "QUEUE",
	image: "registry.example/captions:3",
	cmd: ["python", "-u", "handler.py"],
	gpu: { pools: ["ANY"], minCudaVersion: "12.4" },
	scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
	workers: { max: 0, idleTimeout: 30 },
	env: { MODEL: "small" },
};

export const CPU_BODY = {
	name: "letters",
	type: "QUEUE",
	image: "exact:1",
	cpu: [{ id: "cpu5c", vcpuCount: 4 }],
	scaling: { type: "REQUEST_COUNT", requestCount: 4 },
	workers: { min: 0, max: 0 },
};

export interface Managed {
	service: TestService;
	ask(method: string, path: string, body?: unknown): ReturnType<typeof call>;
	/** A new endpoint, as the API answers it. */
	made(body?: object): Promise<any>;
	settingsOf(id: string): Endpoint;
}

/** With the endpoint `file` in its `sluice.yaml`. */
export async function managedService(): Promise<Managed> {
	const management = {
		launcher: { type: "docker", prePull: false, shmSize: "2g" },
		images: ["registry.example/*", "exact:1"],
	};
	// Models of these GPUs are not known: any pool may have a machine.
	const service = await startService({ endpoints: { file: {} }, settings: { management, gpus: 2 } });
	const ask: Managed["ask"] = (method, path, body) =>
		call(service.url, `/v2${path}`, { method, ...(body === undefined ? {} : { body }) });
	return {
		service,
		ask,
		async made(body = BODY) {
			const { status, json, text } = await ask("POST", "/serverless", body);
			expect(status, text).toBe(201);
			return json;
		},
		settingsOf: (id) => structuredClone(service.engine.endpoints.get(id)),
	};
}
