/** `sluice init`: each starter runs under `sluice dev`, and those of npm under a service (D36). */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { describe, expect, it, type TestContext } from "vitest";
import { call } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { ROOT, result, room, session } from "./dev-session.ts";
import { until } from "../support/until.ts";

const KEY = "key-of-the-starters-0123456789";

async function started(test: TestContext, starter: string): Promise<string> {
	const { cwd } = room(test, {});
	const made = await sluice(test, ["init", starter, "mine"], { cwd });
	expect(made).toMatchObject({ code: 0, stderr: "" });
	expect(made.stdout).toMatch(/^Created mine: .*\n\n {2}cd mine\n/);
	return join(cwd, "mine");
}

/** Installs what a worker runs with; TypeScript itself would come from a registry. */
function install(folder: string): void {
	const file = join(folder, "package.json");
	const { devDependencies: _, ...given } = JSON.parse(readFileSync(file, "utf8"));
	writeFileSync(file, JSON.stringify(given));
	execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd: folder });
}

/** A service with the `sluice.yaml` of the folder. */
async function serve(
	test: TestContext,
	folder: string,
	env: Record<string, string> = {},
): Promise<{ url: string; end: () => Promise<void> }> {
	const args = ["serve", "--config", "sluice.yaml", "--port", "0"];
	const service = start(test, args, { cwd: folder, env: { SLUICE_API_KEY: KEY, ...env } });
	const url = await until("the address", () => /listens on (\S+)/.exec(service.stdout())?.[1]);
	return {
		url,
		async end() {
			service.end("SIGINT");
			await service.ended;
		},
	};
}

function testInput(folder: string): any {
	return JSON.parse(readFileSync(join(folder, "test_input.json"), "utf8")).input;
}

const STARTERS: Readonly<Record<string, (job: any) => void>> = {
	javascript: ({ output }) => expect(output).toEqual({ greeting: "Hello, Ada!" }),
	typescript: ({ output }) => expect(output).toEqual({ greeting: "Hello, Ada!" }),
	streaming: ({ output }) =>
		expect(output.map((each: { token: string }) => each.token).join("")).toBe("a job that streams its tokens a job"),
	image({ output }) {
		const [, data] = /^data:image\/png;base64,(.*)$/.exec(output.images[0].data)!;
		const png = Buffer.from(data!, "base64");
		expect(png.readUInt32BE(16)).toBe(128);
		const length = png.readUInt32BE(33);
		expect(inflateSync(png.subarray(41, 41 + length))).toHaveLength(128 * (128 * 3 + 1));
	},
};

describe("sluice init", () => {
	for (const [starter, check] of Object.entries(STARTERS)) {
		it.concurrent(`D36: ${starter} runs under sluice dev as it is`, async (test) => {
			const folder = await started(test, starter);
			const dev = await session(test, folder, ".");
			expect(dev.endpoint).toBe("mine");
			check(await result(dev, testInput(folder)));
		});
	}

	it.concurrent("D36: streaming serves OpenAI's clients, streaming and not", async (test) => {
		const dev = await session(test, await started(test, "streaming"), ".");
		const ask = async (stream: boolean): Promise<string> => {
			const response = await fetch(`${dev.url}/v2/mine/openai/v1/chat/completions`, {
				method: "POST",
				headers: { authorization: `Bearer ${dev.key}`, "content-type": "application/json" },
				body: JSON.stringify({
					model: "echo-1",
					messages: [{ role: "user", content: "hello there" }],
					max_tokens: 3,
					stream,
				}),
			});
			return await response.text();
		};
		expect(JSON.parse(await ask(false)).choices[0].message.content).toBe("hello there hello");
		const events = (await ask(true)).trim().split("\n\n");
		expect(events).toHaveLength(5);
		expect(events.at(-1)).toBe("data: [DONE]");
	});

	it.concurrent("D36: after npm install a service runs it by its sluice.yaml", async (test) => {
		const folder = await started(test, "typescript");
		install(folder);
		// Nothing outside the folder is used, as on another machine.
		expect(readFileSync(join(folder, "package.json"), "utf8")).not.toContain(ROOT.replace(/\/$/, ""));
		expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({ name: "mine" });
		for (const name of [".gitignore", ".dockerignore"])
			expect(readFileSync(join(folder, name), "utf8")).toMatch(/^node_modules\/$/m);
		expect(readdirSync(folder)).toEqual(expect.arrayContaining(["Dockerfile", "README.md"]));
		const { url, end } = await serve(test, folder);
		const { json } = await call(url, "/v2/mine/runsync", {
			key: KEY,
			body: { input: testInput(folder) },
		});
		STARTERS["typescript"]!(json);
		await end();
	});

	it.concurrent("D36: typescript has types that compile once it is installed", async (test) => {
		const folder = await started(test, "typescript");
		install(folder);
		execFileSync(join(ROOT, "node_modules/.bin/tsc"), { cwd: folder, stdio: "pipe" });
	});

	it.concurrent("D36: python passes its test without a package, and reports a failure", async (test) => {
		const folder = await started(test, "python");
		const tested = await sluice(test, ["dev", ".", "--test"], { cwd: folder });
		expect(tested.stdout).toContain("All 1 tests passed.");
		const dev = await session(test, folder, ".");
		expect((await result(dev, { name: "Ada" })).output).toEqual({ greeting: "Hello, Ada!" });
		const handler = join(folder, "handler.py");
		const text = readFileSync(handler, "utf8");
		writeFileSync(handler, text.replace("return {", "yield 1\n    yield {"));
		await dev.says(/handler\.py changed/);
		await result(dev, {});
		await dev.says(/chunk 1\n/);
		await dev.says(/done in \d+ ms, 2 chunks/);
		writeFileSync(handler, text.replace("return {", "return 1 / 0 + {"));
		await dev.says(/handler\.py changed/);
		await result(dev, {});
		await dev.says(/FAILED in \d+ ms: Traceback[^]*ZeroDivisionError: division by zero/);
	});

	it.concurrent("D36: http runs under sluice dev, and under a service by its sluice.yaml", async (test) => {
		const folder = await started(test, "http");
		const dev = await session(test, folder, "--http", "0", "--", process.execPath, "server.mjs");
		expect(await result(dev, testInput(folder))).toMatchObject({ output: { greeting: "Hello, Ada!" } });
		expect(await result(dev, { name: 7 })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 422: .*name/),
		});
		const { url, end } = await serve(test, folder);
		const { json } = await call(url, "/v2/mine/runsync", { key: KEY, body: { input: testInput(folder) } });
		expect(json).toMatchObject({ status: "COMPLETED", output: { greeting: "Hello, Ada!" } });
		await end();
	});

	it.concurrent("D36: http with a preset is an endpoint to which a server can be connected", async (test) => {
		const { cwd } = room(test, {});
		const made = await sluice(test, ["init", "http", "mine", "--preset", "docling"], { cwd });
		expect(made.stdout).toMatch(/^Created mine: sluice\.yaml, test_input\.json\n\n {2}cd mine\n/);
		expect(made.stdout).toContain("\n  sluice connect docling http://127.0.0.1:5001 --endpoint mine\n");
		const folder = join(cwd, "mine");
		const { url, end } = await serve(test, folder);
		expect((await call(url, "/v1/endpoints/mine", { key: KEY })).json).toMatchObject({ http: "docling" });
		const queued = await call(url, "/v2/mine/run", { key: KEY, body: { input: testInput(folder) } });
		expect(queued.json.status).toBe("IN_QUEUE");
		await end();
		const sentence = async (...args: string[]): Promise<string> => {
			const { code, stderr } = await sluice(test, ["init", ...args], { cwd });
			expect(code).toBe(2);
			return stderr;
		};
		expect(await sentence("http", "mine", "--preset", "docling")).toMatch(
			/mine\/sluice\.yaml exists\. Pass another folder: sluice init http FOLDER --preset docling\n$/,
		);
		expect(await sentence("http", "other", "--preset", "doclin")).toMatch(
			/^There is no preset 'doclin'\. Did you mean 'docling'\? Presets: raw, openai, /,
		);
		expect(await sentence("python", "other", "--preset", "docling")).toBe(
			"--preset is for the starter http: sluice init http FOLDER --preset docling\n",
		);
		expect(existsSync(join(cwd, "other"))).toBe(false);
	});

	for (const starter of ["vllm", "comfyui"])
		it.concurrent(`D36: ${starter} is an endpoint with RunPod's image, on a GPU`, async (test) => {
			const { cwd } = room(test, {});
			const made = await sluice(test, ["init", starter, "mine"], { cwd });
			expect(made.stdout).toMatch(
				/ sluice serve --config sluice\.yaml .*\n {2}sluice jobs submit mine --input @test_input/,
			);
			const folder = join(cwd, "mine");
			const { url, end } = await serve(test, folder, { DOCKER_HOST: "unix:///nowhere/docker.sock" });
			const { json } = await call(url, "/v1/endpoints/mine", { key: KEY });
			expect(json).toMatchObject({
				gpusPerWorker: 1,
				launcher: { type: "docker", pullPolicy: "missing", volumes: ["models:/runpod-volume"] },
			});
			expect(json.launcher.image).toMatch(/^runpod\/worker-/);
			const queued = await call(url, "/v2/mine/run", { key: KEY, body: { input: testInput(folder) } });
			expect(queued.json.status).toBe("IN_QUEUE");
			await end();
		});

	it.concurrent("D36: names the starters, and replaces no file", async (test) => {
		const folder = await started(test, "javascript");
		const cwd = join(folder, "..");
		expect(await sluice(test, ["init"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^Choose a starter: .*\n\n {2}javascript .*image /s),
		});
		expect((await sluice(test, ["init", "rust"], { cwd })).stderr).toMatch(
			/^There is no starter 'rust'; there are javascript, /,
		);
		const before = readdirSync(folder);
		expect(await sluice(test, ["init", "image", "mine"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/mine\/\S+ exists\. Pass another folder: sluice init image/),
		});
		expect(readdirSync(folder)).toEqual(before);
	});
});
