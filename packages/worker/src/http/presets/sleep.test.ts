/** What each preset sends to free the server's GPU memory, and what it waits for. */
import { afterEach, describe, expect, it } from "vitest";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import { sleepServer } from "../server/sleep.ts";

afterEach(closeServers);

describe("the sleep of a preset", () => {
	/** Puts a preset's server to sleep. `states`: answers to what the condition asks, one after the other. */
	async function sleep(preset: string, asked: string, states: object[]) {
		const { server } = await handlerOf({ preset }, ({ method, url }, response) =>
			json(response, `${method} ${url}` === asked ? states.shift()! : {}),
		);
		const files = { readPort: () => undefined, writePort() {}, isAsleep: () => true, setAsleep() {}, remove() {} };
		const mapping = mappingOf({ preset, port: server.port, ready: { everyMs: 10 } });
		await sleepServer({ mapping, env: {}, files, clock: systemClock, randomId: () => "b" });
		return server.received.map(({ method, url, body }) => `${method} ${url} ${body.toString()}`.trim());
	}

	it("comfyui: until PyTorch has given the memory back", async () => {
		const stats = (bytes: number) => ({ devices: [{ vram_free: 1, torch_vram_total: bytes }] });
		expect(await sleep("comfyui", "GET /system_stats", [stats(9e9), {}, stats(33_554_432)])).toEqual([
			'POST /free {"unload_models":true,"free_memory":true}',
			...Array<string>(3).fill("GET /system_stats"),
		]);
	});

	it("ollama: unloads each model, until none is loaded", async () => {
		const ps = (...names: string[]) => ({ models: names.map((name) => ({ name, size_vram: 1 })) });
		expect(await sleep("ollama", "GET /api/ps", [ps("a:1", "b:2"), ps("b:2"), ps()])).toEqual([
			"GET /api/ps",
			'POST /api/generate {"model":"a:1","keep_alive":0}',
			'POST /api/generate {"model":"b:2","keep_alive":0}',
			"GET /api/ps",
			"GET /api/ps",
		]);
	});

	it("vllm: until it sleeps", async () => {
		const states = [{ is_sleeping: false }, { is_sleeping: true }];
		expect(await sleep("vllm", "GET /is_sleeping", states)).toEqual([
			"POST /sleep?level=1",
			"GET /is_sleeping",
			"GET /is_sleeping",
		]);
	});

	it("sglang: by its answer alone", async () => {
		expect(await sleep("sglang", "", [])).toEqual(["POST /release_memory_occupation {}"]);
	});
});
