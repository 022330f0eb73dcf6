/** `sluice endpoints create --http`: endpoints whose workers are HTTP servers (D36). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { call, KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

/** A service, and `sluice endpoints create` against it. */
async function scene(test: TestContext) {
	const place = site(test);
	const { url } = await place.serve({ endpoints: {} });
	const cwd = place.folder.path;
	const env = { SLUICE_URL: url, SLUICE_API_KEY: KEY };
	return {
		cwd,
		create: (...args: string[]) => sluice(test, ["endpoints", "create", ...args], { cwd, env }),
		made: async (id: string) => ({
			http: (await call(url, `/v1/endpoints/${id}/http`)).json.http,
			launcher: (await call(url, `/v1/endpoints/${id}`)).json.launcher,
		}),
	};
}

describe("sluice endpoints create --http", () => {
	it.concurrent("D36: a server elsewhere, or the command of a process", async (test) => {
		const { create, made } = await scene(test);
		expect(await create("elsewhere", "--http", "docling")).toEqual({
			code: 0,
			stderr: "",
			stdout:
				"Created endpoint 'elsewhere'. " +
				"Connect a server: sluice connect docling http://HOST:PORT --endpoint elsewhere\n",
		});
		expect(await made("elsewhere")).toEqual({ http: { preset: "docling" }, launcher: { type: "external" } });
		const settings = ["--set", "http.port=0", "--set", "workersMax=0"];
		const command = ["server", "--port", "{port}"];
		expect((await create("here", "--http", "raw", ...settings, "--", ...command)).code).toBe(0);
		expect(await made("here")).toMatchObject({
			http: { preset: "raw", port: 0 },
			launcher: { type: "process", command },
		});
	});

	it.concurrent("D36: an image, with a mapping whose null removes what the preset has", async (test) => {
		const { create, made, cwd } = await scene(test);
		writeFileSync(join(cwd, "own.yaml"), "preset: docling\nready: { path: null }\n");
		expect((await create("boxed", "--http", "own.yaml", "--image", "docling-serve:1")).code).toBe(0);
		expect(await made("boxed")).toMatchObject({
			http: { preset: "docling", ready: { path: null } },
			launcher: { type: "docker", image: "docling-serve:1", pullPolicy: "missing" },
		});
	});

	it.concurrent("D36: says what is wrong with its flags", async (test) => {
		const { create } = await scene(test);
		expect(await create("wrong", "--http", "doclin")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^There is no preset 'doclin'\. Did you mean 'docling'\? Presets: /),
		});
		expect(await create("wrong", "--image", "a", "--", "b")).toEqual({
			code: 2,
			stdout: "",
			stderr: "Pass --image or a command after --, not both.\n",
		});
	});

	it.concurrent("D36: a command after -- is that of a process without --http, too", async (test) => {
		const { create, made } = await scene(test);
		expect((await create("hello", "--set", "workersMax=0", "--", "node", "worker.js", "--fast")).code).toBe(0);
		expect((await made("hello")).launcher).toMatchObject({
			type: "process",
			command: ["node", "worker.js", "--fast"],
		});
	});
});
