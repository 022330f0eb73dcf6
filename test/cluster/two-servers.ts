/**
 * Two servers, new endpoints, and workers whose calls reach either of them. A test file calls
 * {@link useTwoServers} once.
 */
import { afterAll, beforeAll, expect } from "vitest";
import { type SdkProtocol, sdkProtocol } from "../support/sdk-protocol.ts";
import { movedEnv, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { call } from "../support/service.ts";

export let group: Servers;
export let a: TestServer;
export let b: TestServer;
let endpoints = 0;
const protocols: SdkProtocol[] = [];

/** Starts them for the tests of a file. */
export function useTwoServers(): void {
	beforeAll(async () => {
		group = await servers();
		a = await group.start();
		b = await group.start();
	});
	afterAll(async () => {
		for (const each of protocols.splice(0)) each.close();
		await group?.end();
	});
}

/** A new endpoint, made at `a`. */
export async function fresh(settings: object = {}): Promise<string> {
	const id = `ep-${(endpoints += 1)}`;
	const { status, text } = await call(a.url, "/v1/endpoints", {
		body: { id, launcher: { type: "external" }, ...settings },
	});
	expect(status, text).toBe(201);
	return id;
}

/** One worker as it reaches each server. */
export async function worker(ep: string): Promise<{ id: string; at: (server: TestServer) => SdkProtocol }> {
	const env = await workerEnvOf(a.url, ep);
	const at = new Map([a, b].map((server) => [server.url, sdkProtocol(movedEnv(env, server.url))]));
	protocols.push(...at.values());
	return { id: env["RUNPOD_POD_ID"]!, at: (server) => at.get(server.url)! };
}
