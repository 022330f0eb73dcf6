/** What `npm run release` makes: packages installed as a command and as a dependency (D33, D36), the image loaded. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oldNodes } from "../support/old-nodes.ts";
import { BASE, noServiceImage } from "../support/service-image.ts";
import { folder } from "../support/service.ts";
import { makeRelease, nodeRegistry, runProgram } from "./release.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/.bin/tsc");
const [OLD_NODE] = oldNodes();

const place = folder();
const release = join(place.path, "release");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const tarball = join(release, `sluice-${version}.tgz`);
const kit = join(release, `sluice-worker-${version}.tgz`);

/** Without a registry: what the package needs is inside. */
function npm(cwd: string, ...args: string[]): string {
	return execFileSync("npm", [...args, "--no-audit", "--no-fund"], {
		cwd,
		encoding: "utf8",
		env: { ...process.env, npm_config_offline: "true", npm_config_update_notifier: "false" },
	});
}

/** With this Node first on the path. */
function run(command: string, node: string, cwd: string) {
	const path = `${dirname(node)}:${process.env["PATH"]}`;
	const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
		cwd,
		encoding: "utf8",
		env: { ...process.env, PATH: path },
	});
	return { status, stdout, stderr };
}

beforeAll(() => {
	makeRelease(release, "--no-image", "--no-executables");
}, 120_000);

afterAll(() => place.remove());

describe("npm run release", () => {
	it("makes both packages, the list of packages inside, and their checksums", () => {
		const files = [`sluice-${version}.cdx.json`, `sluice-${version}.tgz`, `sluice-worker-${version}.tgz`];
		expect(readdirSync(release).toSorted()).toEqual(["SHA256SUMS", ...files].toSorted());
		const sums = run("sha256sum -c SHA256SUMS", process.execPath, release);
		expect(sums).toMatchObject({ status: 0, stdout: files.map((name) => `${name}: OK\n`).join("") });
		const { components } = JSON.parse(readFileSync(join(release, files[0]!), "utf8")) as { components: unknown[] };
		expect(components.length).toBeGreaterThan(5);
	});

	it("refuses a folder that has files", () => {
		const again = run(`node ${ROOT}scripts/release.ts --out ${release} --no-image`, process.execPath, ROOT);
		expect(again.status).toBe(1);
		expect(again.stderr).toContain(`${release} is not empty: remove it, or name another folder with --out.`);
	});

	it.skipIf(noServiceImage !== undefined)(
		"makes an archive of the image, which runs once it is loaded",
		() => {
			const out = join(place.path, "with-image");
			makeRelease(out, "--no-executables", "--image-base", BASE!);
			const image = `sluice:${version}`;
			execFileSync("docker", ["rmi", "--no-prune", image], { stdio: "ignore" });
			const loaded = execFileSync("docker", ["load", "-i", join(out, `sluice-${version}-image.tar.gz`)]);
			expect(String(loaded)).toContain(image);
			const args = ["run", "--rm", "--network", "none", image, "--version"];
			expect(execFileSync("docker", args, { encoding: "utf8" })).toBe(`${version}\n`);
		},
		180_000,
	);
});

describe("npm install -g", () => {
	let bin = "";
	beforeAll(() => {
		mkdirSync(join(place.path, "tools"));
		for (const [name, path] of [
			["sh", "/bin/sh"],
			["env", "/usr/bin/env"],
		] as const)
			symlinkSync(path, join(place.path, "tools", name));
		npm(place.path, "install", "-g", "--prefix", join(place.path, "global"), tarball);
		bin = join(place.path, "global/bin/sluice");
	}, 120_000);

	it("D33: gives a command that runs with Node 24", () => {
		const help = run(`${bin} help dev`, process.execPath, place.path);
		expect(help).toMatchObject({ status: 0, stderr: "" });
		expect(help.stdout).toContain("sluice dev HANDLER");
		expect(run(`${bin} init javascript started`, process.execPath, place.path)).toMatchObject({
			status: 0,
			stderr: "",
		});
		expect(readdirSync(join(place.path, "started"))).toContain("worker.js");
	});

	describe.skipIf(OLD_NODE === undefined)("with an old Node", () => {
		/** As a user with no other Node on PATH than that of the folder `first`, and a cache of their own. */
		const runOld = async (cache: string, args: string[], env: Record<string, string> = {}) => {
			const first = env["FIRST"] === undefined ? [] : [env["FIRST"]];
			const PATH = [...first, join(place.path, "tools"), dirname(OLD_NODE!)].join(":");
			return await runProgram(OLD_NODE!, [bin, ...args], {
				...{ HOME: place.path, XDG_CACHE_HOME: join(place.path, cache), npm_config_cache: join(place.path, "npm") },
				...{ npm_config_update_notifier: "false", ...env, PATH },
			});
		};

		it("D33: uses a newer one that is on PATH, and passes arguments and exit codes on", async () => {
			const FIRST = dirname(process.execPath);
			const ran = await runOld("unused", ["init", "python", "a b"], { FIRST });
			expect(ran).toMatchObject({ code: 0, stderr: "" });
			expect(readdirSync(join(place.path, "a b"))).toContain("handler.py");
			expect((await runOld("unused", ["init", "cobol"], { FIRST })).code).toBe(2);
			expect(existsSync(join(place.path, "unused"))).toBe(false);
		});

		it("D33: fetches one from npm once, with one line, and says what to do offline", async (test) => {
			const npm_config_registry = await nodeRegistry(join(place.path, "node-package"), test);
			const fetched = await runOld("cache", ["--version"], { npm_config_registry });
			expect(fetched).toMatchObject({ code: 0, stdout: `${version}\n` });
			expect(fetched.stderr).toMatch(
				/^sluice needs Node 24 or newer; .* Fetching Node 24 from npm into \S+, once\.\n$/,
			);
			const offline = { npm_config_registry: "http://127.0.0.1:1" };
			expect(await runOld("cache", ["--version"], offline)).toMatchObject({ code: 0, stderr: "" });
			const refused = await runOld("empty", ["--version"], offline);
			expect(refused).toMatchObject({ code: 2, stdout: "" });
			expect(refused.stderr).toMatch(
				/\nCannot fetch Node 24: npm: .*ECONNREFUSED.* Install Node 24 or newer \(https:\S+\), or run this again .*\n$/,
			);
			expect(readdirSync(join(place.path, "empty/sluice"))).toEqual([]);
		}, 120_000);

		it("D33: ends a service that it runs when it is stopped", async () => {
			const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: place.path };
			const args = [bin, "serve", "--port", "0", "--store", `sqlite:${join(place.path, "store/a.db")}`];
			const service = spawn(OLD_NODE!, args, { env, stdio: ["ignore", "pipe", "ignore"], cwd: place.path });
			const [first] = (await once(createInterface(service.stdout), "line")) as [string];
			const url = /http:\S+/.exec(first)![0];
			service.kill("SIGTERM");
			expect(await once(service, "exit")).toEqual([0, null]);
			await expect(fetch(url)).rejects.toThrow("fetch failed");
		});
	});
});

describe("npm install", () => {
	const cwd = join(place.path, "worker");
	beforeAll(() => {
		mkdirSync(cwd);
		writeFileSync(join(cwd, "package.json"), '{"type": "module"}');
		npm(cwd, "install", tarball);
		writeFileSync(
			join(cwd, "worker.ts"),
			`import { start, type Handler } from "sluice/worker";
interface Input { name: string }
const handler: Handler<Input, { hello: string }> = async (job, { signal, progress, log }) => {
	signal.throwIfAborted();
	await progress({ percent: 1 });
	log("here", "INFO");
	return { hello: job.input.name };
};
await start({ handler, concurrency: 2 });
`,
		);
		writeFileSync(join(cwd, "test_input.json"), '{"input": {"name": "Ann"}}');
	}, 120_000);

	it("D33: a worker imports the kit from any folder", () => {
		const { status, stdout } = run("node worker.ts", process.execPath, cwd);
		expect({ status, stdout }).toEqual({
			status: 0,
			stdout: expect.stringContaining('{"hello":"Ann"}'),
		});
	});

	it("D33: its types compile, and refuse what is wrong", () => {
		const check = (text: string) => {
			writeFileSync(join(cwd, "checked.ts"), text);
			const flags = "--strict --noEmit --module nodenext --target es2024 --types ''";
			return run(`${TSC} ${flags} worker.ts checked.ts`, process.execPath, cwd);
		};
		expect(check("export {};")).toMatchObject({ status: 0, stdout: "" });
		const wrong = check('import { start } from "sluice/worker";\nstart({ handler: 5 });\n');
		expect(wrong.stdout).toMatch(/checked\.ts.*TS2322/);
	});

	it.skipIf(OLD_NODE === undefined)("D33: the kit says in one sentence that Node is too old", () => {
		writeFileSync(join(cwd, "worker.js"), 'import { start } from "sluice/worker";\nawait start({});\n');
		const { status, stdout, stderr } = run("node worker.js", OLD_NODE!, cwd);
		expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
		expect(stderr).toMatch(
			/^sluice\/worker needs Node 24 or newer; this is Node \S+\. .* npx -y node@24 \S+worker\.js\n$/,
		);
	});
});

describe("npm install of the worker kit alone", () => {
	const cwd = join(place.path, "kit");
	beforeAll(() => {
		mkdirSync(cwd);
		writeFileSync(join(cwd, "package.json"), '{"type": "module"}');
		npm(cwd, "install", kit);
		writeFileSync(
			join(cwd, "worker.ts"),
			`import { start, type Handler } from "sluice-worker";
const handler: Handler<{ name: string }, { hello: string }> = (job) => ({ hello: job.input.name });
await start({ handler });
`,
		);
		writeFileSync(
			join(cwd, "adapter.ts"),
			`import { type Mapping, processEnvironment, resolveMapping, runAdapter } from "sluice-worker/http";
const read = resolveMapping("vllm");
if (read.ok) {
	const mapping: Mapping = read.mapping;
	const ids = { randomId: () => "a", argv: [], env: {} };
	await runAdapter({ mapping, command: [], isLaunched: false, ...ids, ...processEnvironment() });
}
`,
		);
	}, 120_000);

	it("D33: has under 110 kB, needs no other package, and is the kit of the service's package", () => {
		expect(statSync(kit).size).toBeLessThan(110_000);
		expect(readdirSync(join(cwd, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["sluice-worker"]);
		const installed = readFileSync(join(cwd, "node_modules/sluice-worker/dist/index.js"));
		expect(installed.equals(readFileSync(join(ROOT, "dist/worker/index.js")))).toBe(true);
	});

	it("D33: runs a handler, and its types compile", () => {
		const { status, stdout } = run(`node worker.ts --test_input '{"input": {"name": "Ann"}}'`, process.execPath, cwd);
		expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('{"hello":"Ann"}') });
		const flags = "--strict --noEmit --module nodenext --target es2024 --types ''";
		expect(run(`${TSC} ${flags} worker.ts adapter.ts`, process.execPath, cwd)).toMatchObject({ status: 0, stdout: "" });
	});
});
