/** The package as `npm pack` makes it: installed as a command and as a dependency (D33, D36). */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
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
