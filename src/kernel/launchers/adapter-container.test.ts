/** What the containers of adapter and server have, whatever the platform. */
import { expect, it } from "vitest";
import { MAPPING_VARIABLE, workerEnv } from "../core/workers/worker-env.ts";
import { adapterEnv, serverEnv, serverPort, serverSettings } from "./adapter-container.ts";

const mapping = '{"port":8000,"concurrency":2}';
const env = {
	MODEL: "small",
	PATH: "/venv/bin",
	NODE_OPTIONS: "--inspect",
	...workerEnv({ url: "http://a", endpoint: "e", worker: "e-1", token: "key", leaseMs: 20_000 }),
	[MAPPING_VARIABLE]: mapping,
};

it("the server has the endpoint's variables and its port, and nothing of the worker", () => {
	expect(serverEnv(env, 8000)).toEqual({
		PORT: "8000",
		MODEL: "small",
		PATH: "/venv/bin",
		NODE_OPTIONS: "--inspect",
	});
	expect(serverEnv({ ...env, PORT: "9" }, 8000)["PORT"], "as the endpoint says").toBe("9");
});

it("the adapter has the worker's variables, none that are for the server's image, and the server's address", () => {
	const own = adapterEnv(env, { mapping, port: 8000 }, "http://127.0.0.1:8000");
	expect(own).toMatchObject({ MODEL: "small", RUNPOD_AI_API_KEY: "key" });
	expect(Object.keys(own).filter((name) => /PATH|NODE/.test(name))).toEqual([]);
	expect(JSON.parse(own[MAPPING_VARIABLE]!)).toEqual({ concurrency: 2, url: "http://127.0.0.1:8000" });
});

it("{port} in a command is the port", () => {
	const settings = { image: "a", command: ["--port={port}", "{port}{port}"], entrypoint: ["serve"] };
	expect(serverSettings(settings, 80)).toEqual({ ...settings, command: ["--port=80", "8080"] });
	expect(serverSettings({ image: "a" } as { image: string; command?: string[] }, 80)).toEqual({ image: "a" });
	expect(serverPort({ mapping, port: 80 })).toBe(80);
});

it.each([
	[undefined, "http.socket cannot be reached from another container: write the port on which the server listens"],
	[0, "http.port: 0 is not possible in another container: write the port on which the server listens"],
])("refuses the port %s of a mapping", (port, sentence) => {
	expect(() => serverPort({ mapping: "{}", port })).toThrow(sentence);
});
