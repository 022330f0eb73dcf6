/** The package as `npm pack` makes it: installed as a command and as a dependency (D33, D36). */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oldNodes } from "../support/old-nodes.ts";
import { folder } from "../support/service.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/.bin/tsc");
const [OLD_NODE] = oldNodes();

const place = folder();
let tarball = "";

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
	// The build is there already.
	npm(ROOT, "pack", "--ignore-scripts", "--silent", "--pack-destination", place.path);
	tarball = join(place.path, readdirSync(place.path).find((name) => name.endsWith(".tgz"))!);
}, 120_000);

afterAll(() => place.remove());

describe("npm install -g", () => {
	let bin = "";
	beforeAll(() => {
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

	it.skipIf(OLD_NODE === undefined)("D33: says with an old Node what to run, and that works", () => {
		const refused = run(`${bin} init python 'a b'`, OLD_NODE!, place.path);
		expect(refused).toMatchObject({ status: 2, stdout: "" });
		const [, words = ""] = /^sluice needs Node 24 .* or run: npx -y node@24 (.*)\n$/.exec(refused.stderr)!;
		// What npx would do, without the registry.
		expect(run(`${process.execPath} ${words}`, OLD_NODE!, place.path)).toMatchObject({
			status: 0,
		});
		expect(readdirSync(join(place.path, "a b"))).toContain("handler.py");
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
	let packed = "";
	beforeAll(() => {
		mkdirSync(cwd);
		npm(join(ROOT, "packages/worker"), "pack", "--ignore-scripts", "--silent", "--pack-destination", cwd);
		packed = join(cwd, readdirSync(cwd).find((name) => name.endsWith(".tgz"))!);
		writeFileSync(join(cwd, "package.json"), '{"type": "module"}');
		npm(cwd, "install", packed);
		writeFileSync(
			join(cwd, "worker.ts"),
			`import { start, type Handler } from "sluice-worker";
const handler: Handler<{ name: string }, { hello: string }> = (job) => ({ hello: job.input.name });
await start({ handler });
`,
		);
	}, 120_000);

	it("D33: has under 150 kB, needs no other package, and is the kit of the service's package", () => {
		expect(statSync(packed).size).toBeLessThan(150_000);
		expect(readdirSync(join(cwd, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["sluice-worker"]);
		const kit = readFileSync(join(cwd, "node_modules/sluice-worker/dist/index.js"));
		expect(kit.equals(readFileSync(join(ROOT, "dist/worker/index.js")))).toBe(true);
		const versions = ["package.json", "packages/worker/package.json"].map(
			(path) => (JSON.parse(readFileSync(join(ROOT, path), "utf8")) as { version: string }).version,
		);
		expect(versions[1]).toBe(versions[0]);
	});

	it("D33: runs a handler, and its types compile", () => {
		const { status, stdout } = run(`node worker.ts --test_input '{"input": {"name": "Ann"}}'`, process.execPath, cwd);
		expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('{"hello":"Ann"}') });
		const flags = "--strict --noEmit --module nodenext --target es2024 --types ''";
		expect(run(`${TSC} ${flags} worker.ts`, process.execPath, cwd)).toMatchObject({ status: 0, stdout: "" });
	});
});
