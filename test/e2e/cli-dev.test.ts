/** `sluice dev`: service and worker in one terminal (D36). */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { SLUICE, sluice, start } from "./command.ts";
import { isAlive } from "./site.ts";
import { until, within } from "../support/until.ts";
import { room, session, result, HELLO } from "./dev-session.ts";

describe("sluice dev", () => {
	it.concurrent("D36: runs a TypeScript handler; its curl line can be pasted", async (test) => {
		const { cwd } = room(test, {
			"greet/handler.ts":
				'import { suffix } from "./suffix.ts";\ninterface Input { name: string }\n' +
				"export default async (job: { input: Input }): Promise<object> => {\n" +
				'  console.log("at work");\n  return { hello: job.input.name + suffix };\n};\n',
			"greet/suffix.ts": 'export const suffix: string = "!";\n',
			"greet/test_input.json": '{\n  "input": { "name": "O\'Neil \\"Ann\\" $HOME" }\n}\n',
		});
		const dev = await session(test, cwd, "greet/handler.ts", "--run", "--verbose");
		expect(dev.endpoint).toBe("greet");
		const [, id] = await dev.says(/^\d\d:\d\d:\d\d job (\S+) queued$/m);
		await dev.says(new RegExp(`job …${id?.slice(-6)} started`));
		await dev.says(/worker \| at work/);
		await dev.says(new RegExp(`job …${id?.slice(-6)} done in \\d+ ms`));
		await dev.says(/output \{"hello":"O'Neil \\"Ann\\" \$HOME!"\}/);

		const [, line = ""] = /^ {2}try it +(curl .*)$/m.exec(dev.stdout()) ?? [];
		expect(JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" }))).toMatchObject({
			status: "COMPLETED",
			output: { hello: 'O\'Neil "Ann" $HOME!' },
		});
		for (const base of [
			`RUNPOD_ENDPOINT_BASE_URL=${dev.url}/sdk/v2`,
			`baseUrl: "${dev.url}/v2"`,
			`${dev.url}/v2/greet/openai/v1`,
		])
			expect(dev.stdout()).toContain(base);
		expect(dev.stdout()).toMatch(new RegExp(`^  console  ${dev.url}/console/#/link/[0-9a-f]{48}$`, "m"));
		expect(readFileSync(join(cwd, "greet/.sluice/.gitignore"), "utf8")).toBe("*\n");
	});

	it.concurrent("D36, D16: a change of an imported file restarts the worker without a counted loss", async (test) => {
		const { cwd, write } = room(test, {
			"handler.js":
				'import { say } from "./lib/say.js";\nexport default async (job, { log }) => {\n' +
				'  log(`begun by ${say}`);\n  if (say === "one") await new Promise((done) => setTimeout(done, ' +
				"600_000));\n  return say;\n};\n",
			"lib/say.js": 'export const say = "one";\n',
			"package.json": '{"type": "module"}',
		});
		const dev = await session(test, cwd, "handler.js");
		const answer = result(dev, {});
		await dev.says(/INFO +sync-\S+ begun by one/);
		write("lib/say.js", 'export const say = "two";\n');
		await dev.says(/lib\/say\.js changed: restarting worker/);
		await dev.says(/job …\S{6} requeued/);
		await dev.says(/begun by two/);
		const job = await within("the job to end", answer);
		expect(job).toMatchObject({ status: "COMPLETED", output: "two" });
		// Many changes lose nothing: three counted losses would fail the job (D16).
		write("lib/say.js", 'export const say = "one";\n');
		await dev.says(/changed/);
		const long = result(dev, {});
		for (let round = 0; round < 4; round += 1) {
			await dev.says(/begun by one/);
			write("lib/say.js", `export const say = "one"; // ${round}\n`);
			await dev.says(/requeued/);
		}
		await dev.says(/begun by one/);
		write("lib/say.js", 'export const say = "two";\n');
		expect(await within("the job to end", long)).toMatchObject({
			status: "COMPLETED",
			output: "two",
		});
	});

	it.concurrent("D36: Ctrl-C ends the worker, its children and the service, in a job too", async (test) => {
		const { cwd } = room(test, {
			"handler.js":
				'import { spawn } from "node:child_process";\n' +
				'process.on("SIGTERM", () => {});\nexport default async (job, { log }) => {\n' +
				'  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);\n' +
				"  log(`pids ${process.pid} ${child.pid} .`);\n" +
				"  await new Promise(() => setInterval(() => {}, 1000));\n};\n",
			"package.json": '{"type": "module"}',
		});
		const dev = await session(test, cwd, "handler.js");
		const waiting = result(dev, {}).catch(() => {});
		const [, worker, child] = await dev.says(/pids (\d+) (\d+) \./);
		expect(await dev.close()).toBe(0);
		for (const pid of [worker, child]) expect(isAlive(Number(pid)), `process ${pid}`).toBe(false);
		await waiting;
		await expect(fetch(`${dev.url}/healthz`)).rejects.toThrow();
	});

	it.concurrent("D36, D16: killed outright it leaves no worker, and the next run continues its job", async (test) => {
		const { cwd, write } = room(test, {
			"handler.js":
				"process.stdout.on('error', () => {});\nexport default async (job, { log }) => {\n" +
				"  log(`pid ${process.pid} .`);\n  await new Promise(() => setInterval(() => {}, " +
				"1000));\n};\n",
		});
		const first = await session(test, cwd, "handler.js");
		const { json } = await call(first.url, `/v2/${first.endpoint}/run`, {
			key: first.key,
			body: { input: { name: "Ann" } },
		});
		const [, worker] = await first.says(/pid (\d+) \./);
		await first.close("SIGKILL");
		await until("the worker to end", () => !isAlive(Number(worker)));
		write("handler.js", HELLO);
		const second = await session(test, cwd, "handler.js");
		await second.says(new RegExp(`job …${json.id.slice(-6)} done`));
		const { json: job } = await call(second.url, `/v1/endpoints/${second.endpoint}/jobs/${json.id}`, {
			key: second.key,
		});
		expect(job).toMatchObject({
			status: "COMPLETED",
			output: { hello: "Ann" },
			attempts: [{ end: "released" }, { end: "completed" }],
		});
	});

	it.concurrent("D36: at a terminal Enter sends test_input.json, r restarts, Ctrl-C ends", async (test) => {
		const { cwd } = room(test, {
			"handler.js": HELLO,
			"test_input.json": '{"input": {"name": "Ann"}}',
		});
		// A terminal of its own; what comes on standard input is typed there.
		const typist = "import os, pty, sys\npty.spawn(sys.argv[1:])\n";
		const child = spawn("python3", ["-c", typist, process.execPath, SLUICE, "dev", "handler.js", "--port", "0"], {
			cwd,
			stdio: ["pipe", "pipe", "inherit"],
		});
		test.onTestFinished(() => void child.kill("SIGKILL"));
		let said = "";
		child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
		const ended = once(child, "close");
		await until("the offer", () => said.includes("sends test_input.json"));
		child.stdin.write("\n");
		const [, first] = await until("the output", () => /output \{"hello":"Ann","pid":(\d+)\}/.exec(said));
		child.stdin.write("r");
		await until("the worker to end", () => !isAlive(Number(first)));
		child.stdin.write("\n");
		const second = await until(
			"another output",
			() => [...said.matchAll(/output \{"hello":"Ann","pid":(\d+)\}/g)][1]?.[1],
		);
		expect(second).not.toBe(first);
		child.stdin.write("\u0003");
		await within("dev to end", ended);
		expect(isAlive(Number(second))).toBe(false);
	});

	it.concurrent("D36: a worker that cannot start is shown once, and started with the next change", async (test) => {
		const { cwd, write } = room(test, { "handler.js": "export default async () => { return 1;\n" });
		const dev = await session(test, cwd, "handler.js");
		await dev.says(/worker \| SyntaxError/);
		await dev.says(/The worker exited with code 1 before it asked for a job; its last lines are above\. /);
		await dev.says(/^It restarts when a source file in \S+ changes\./);
		const { json } = await call(dev.url, `/v2/${dev.endpoint}/run`, {
			key: dev.key,
			body: { input: { name: "x" } },
		});
		write("handler.js", HELLO);
		await dev.says(/handler\.js changed/);
		await dev.says(new RegExp(`job …${json.id.slice(-6)} done`));
		expect(dev.stdout().match(/worker \| SyntaxError/g)).toHaveLength(1);
		write("handler.js", "export const nothing = 1;\n");
		await dev.says(/neither calls start\(\) of sluice\/worker nor exports a handler/);
		await dev.close();
		const absent = await session(test, cwd, "--", "no-such-program", "worker.js");
		await absent.says(/worker \| The program 'no-such-program' was not found\./);
		await absent.says(/The worker could not be started before it asked for a job/);
		expect(await absent.close()).toBe(0);
	});

	it.concurrent("D36: a job that crashes its worker waits, and runs with the next change", async (test) => {
		const { cwd, write } = room(test, {
			"handler.cjs": "module.exports = async () => process.exit(3);\n",
		});
		const dev = await session(test, cwd, "handler.cjs");
		const answer = result(dev, { name: "Ann" });
		await dev.says(/The worker exited with code 3; .* Its job is back in the queue\. It restarts/);
		write("handler.cjs", "module.exports = async (job) => job.input.name;\n");
		expect(await within("the job to end", answer)).toMatchObject({
			status: "COMPLETED",
			output: "Ann",
		});
	});

	it.concurrent("D36: queue and key stay for the next run, --fresh starts with none", async (test) => {
		const { cwd } = room(test, {
			"handler.js": "export default async (job) => { if (!job.input.now) process.exit(1); return job.input.n; };\n",
		});
		const first = await session(test, cwd, "handler.js");
		await result(first, { now: true });
		const { json } = await call(first.url, `/v2/${first.endpoint}/run`, {
			key: first.key,
			body: { input: { n: 1 } },
		});
		await first.says(/Its job is back in the queue/);
		await first.close();
		const second = await session(test, cwd, "handler.js");
		expect(second.key).toBe(first.key);
		await second.says(new RegExp(`job …${json.id.slice(-6)} started`));
		await second.says(/Its job is back in the queue/);
		await second.close("SIGTERM");
		const third = await session(test, cwd, "handler.js", "--fresh");
		expect((await call(third.url, `/v2/${third.endpoint}/status/${json.id}`, { key: third.key })).status).toBe(404);
		expect((await result(third, { now: true, n: 5 })).output).toBe(5);
	});

	it.concurrent("D36: a usual port in use is no obstacle; a second session in one folder is refused", async (test) => {
		const { cwd } = room(test, { "handler.js": HELLO });
		const holder = createServer().listen(8080, "127.0.0.1");
		test.onTestFinished(() => void holder.close());
		// Either is in use then: by this test, or by another program of this machine.
		await Promise.race([once(holder, "listening"), once(holder, "error")]).catch(() => {});
		const dev = start(test, ["dev", "handler.js"], { cwd });
		const url = await until("the address", () => /export SLUICE_URL=(\S+)/.exec(dev.stdout())?.[1]);
		expect(dev.stdout()).toMatch(/^\d\d:\d\d:\d\d Port 8080 is in use; using a free port\.$/m);
		expect(url).not.toContain(":8080");
		expect(await sluice(test, ["dev", "handler.js", "--port", "0"], { cwd })).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(new RegExp(`^sluice dev already runs here at ${url}\\. Stop it first`)),
		});
		expect(await sluice(test, ["dev", "handler.js", "--port", "0", "--fresh"], { cwd })).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/^sluice dev already runs here at /),
		});
		expect(existsSync(join(cwd, ".sluice/dev.db"))).toBe(true);
	});
});
