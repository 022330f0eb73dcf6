import { spawn } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { httpServer, type TestServer } from "../../../../test/support/worker-kit/http-servers.ts";
import { cancelBy } from "../../../../test/support/worker-kit/mapping.ts";
import { scriptedService, type ScriptedService } from "../../../../test/support/worker-kit/scripted-service.ts";

const MAIN = new URL("main.ts", import.meta.url).pathname;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A server on PORT that the adapter starts. It prints its pid and variables, and answers by `source`. */
const SERVER = (source: string): string[] => [
	process.execPath,
	"-e",
	`const { createServer } = require("node:http");
	console.log("pid", process.pid, JSON.stringify(process.env));
	createServer((request, response) => {
		let body = "";
		request.on("data", (piece) => (body += piece)).on("end", () => { ${source} });
	}).listen(Number(process.argv[1]), "127.0.0.1");`,
	"{port}",
];

interface Program {
	exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
	output: () => string;
	printed: (pattern: RegExp) => Promise<RegExpExecArray>;
	kill: (name: NodeJS.Signals) => void;
	pid: number;
}

function program(args: string[], env: Record<string, string | undefined>): Program {
	const child = spawn(process.execPath, [MAIN, ...args], {
		env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
	});
	let output = "";
	let waiting: (() => void)[] = [];
	const add = (piece: Buffer): void => {
		output += piece.toString();
		for (const check of waiting) check();
	};
	child.stdout.on("data", add);
	child.stderr.on("data", add);
	cleanups.push(() => void child.kill("SIGKILL"));
	return {
		exit: new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal }))),
		output: () => output,
		printed: (pattern) =>
			new Promise((resolve) => {
				const check = (): void => {
					const found = pattern.exec(output);
					if (!found) return;
					waiting = waiting.filter((each) => each !== check);
					resolve(found);
				};
				waiting.push(check);
				check();
			}),
		kill: (name) => void child.kill(name),
		pid: child.pid!,
	};
}

async function service(): Promise<ScriptedService> {
	const scripted = await scriptedService();
	cleanups.push(() => scripted.down());
	return scripted;
}

const withMapping = (scripted: ScriptedService, mapping: object): Record<string, string> =>
	scripted.env({ SLUICE_HTTP: JSON.stringify({ port: 0, ready: { path: "/", everyMs: 20 }, ...mapping }), MINE: "x" });

const isRunning = (pid: number): boolean => {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
};

describe("sluice-http", () => {
	it.each([
		[{}, "SLUICE_HTTP is missing"],
		[{ SLUICE_HTTP: "{" }, "SLUICE_HTTP is not JSON"],
		[{ SLUICE_HTTP: '{"port":1,"reqest":{}}' }, "http.reqest is unknown"],
		[{ SLUICE_HTTP: '{"preset":"openai"}' }, "http.port is missing: write the server's http.port: 8000"],
	])("exits with 2 for %j", async (env, sentence) => {
		const started = program([], env);
		expect(await started.exit).toEqual({ code: 2, signal: null });
		expect(started.output()).toContain(sentence);
	});

	it("exits with 2 for another argument", async () => {
		const started = program(["snooze"], {});
		expect(await started.exit).toEqual({ code: 2, signal: null });
		expect(started.output()).toContain("Unexpected argument snooze. Usage: sluice-http");
	});

	it("starts the server on a free port, without the worker's access to the service", async () => {
		const scripted = await service();
		scripted.give({ id: "a", input: { n: 1 } });
		const started = program(["--", ...SERVER("response.end(body)")], {
			...withMapping(scripted, {}),
			SLUICE_SERVICE_ID: "s-1",
		});
		await scripted.until((one) => one.route === "job-done");
		expect(scripted.results()[0]).toContain('"data":"eyJuIjoxfQ=="');
		const [, pid, text] = await started.printed(/pid (\d+) (.*)/);
		const env = JSON.parse(text!) as Record<string, string>;
		expect(env).toMatchObject({ RUNPOD_POD_ID: "w-1", SLUICE_SERVICE_ID: "s-1", MINE: "x", PORT: expect.any(String) });
		expect(Object.keys(env).filter((name) => /WEBHOOK|API_KEY|SLUICE_HTTP/.test(name))).toEqual([]);
		expect(text).not.toContain("worker-key");

		started.kill("SIGTERM");
		expect(await started.exit).toEqual({ code: 0, signal: null });
		expect(isRunning(Number(pid))).toBe(false);
	});

	it("SIGTERM: finishes the jobs before the server is stopped", async () => {
		const scripted = await service();
		scripted.give({ id: "a", input: 1 });
		const source =
			"if (body) process.once('SIGUSR2', () => response.end(body)), console.log('begun'); else response.end()";
		const started = program(["--", ...SERVER(source)], withMapping(scripted, {}));
		const [, pid] = await started.printed(/pid (\d+)/);
		await started.printed(/begun/);
		started.kill("SIGTERM");
		await started.printed(/taking no more jobs/);
		process.kill(Number(pid), "SIGUSR2");
		expect(await started.exit).toEqual({ code: 0, signal: null });
		expect(scripted.results()).toHaveLength(1);
	});

	it.each([
		["process.exit(3)", 3],
		["process.exit(0)", 70],
		["process.kill(process.pid, 'SIGKILL')", 137],
	])("ends with its server: %s is %i", async (source, code) => {
		const scripted = await service();
		scripted.give({ id: "a", input: 1 });
		const started = program(["--", ...SERVER(`if (body) ${source}; else response.end()`)], withMapping(scripted, {}));
		expect(await started.exit).toEqual({ code, signal: null });
		// A crash, with the job held: the service counts the loss.
		expect(scripted.results()).toEqual([]);
	});

	it("reports a finished job before it ends with its server", async () => {
		const scripted = await service();
		const started = program(["--", ...SERVER("response.end(body)")], withMapping(scripted, {}));
		const [, pid] = await started.printed(/pid (\d+)/);
		scripted.script = ({ route }, response) => {
			if (route !== "job-done" || scripted.results().length > 1) return false;
			process.kill(Number(pid), "SIGKILL");
			response.destroy();
			return true;
		};
		scripted.give({ id: "a", input: 1 });
		expect(await started.exit).toEqual({ code: 137, signal: null });
		expect(scripted.results()).toHaveLength(2);
	});

	it("a test input that fails is exit code 1, also with a command", async () => {
		const source = "if (body) response.statusCode = 422; response.end()";
		const env = { SLUICE_HTTP: JSON.stringify({ port: 0, ready: { path: "/", everyMs: 20 } }) };
		const started = program(["--test_input", '{"input":1}', "--", ...SERVER(source)], env);
		expect(await started.exit).toEqual({ code: 1, signal: null });
	});

	it("does not start a server where another one is, and sends that one nothing", async () => {
		const scripted = await service();
		scripted.give({ id: "a", input: 1 });
		const other = await httpServer((_request, response) => response.end());
		cleanups.push(() => other.close());
		const started = program(["--", ...SERVER("response.end()")], withMapping(scripted, { port: other.port }));
		expect(await started.exit).toEqual({ code: 1, signal: null });
		expect(started.output()).toContain(`another program listens on port ${other.port}`);
		expect([started.output().includes("pid"), other.received, scripted.queue.length]).toEqual([false, [], 1]);
	});

	it("a command that cannot be started ends it", async () => {
		const scripted = await service();
		const started = program(["--", "no-such-server"], withMapping(scripted, {}));
		expect(await started.exit).toEqual({ code: 127, signal: null });
		expect(started.output()).toContain("cannot be started");
	});

	it("a cancelled job that the server does not end, ends the server", async () => {
		const scripted = await service();
		scripted.give({ id: "a", input: 1 });
		const mapping = { cancel: cancelBy("wait", { waitMs: 100 }) };
		const source = "if (body) console.log('begun'); else response.end()";
		const started = program(["--", ...SERVER(source)], withMapping(scripted, mapping));
		await started.printed(/begun/);
		scripted.stopJobs("a");
		expect(await started.exit).toEqual({ code: 137, signal: null });
	});

	it("runs one test input without a service", async () => {
		const server: TestServer = await httpServer((request, response) => response.end(request.body));
		cleanups.push(() => server.close());
		const mapping = JSON.stringify({ port: server.port, answer: { as: "text" } });
		const started = program(["--test_input", '{"input":{"n":1}}'], { SLUICE_HTTP: mapping });
		expect(await started.exit).toEqual({ code: 0, signal: null });
		expect(started.output()).toContain('{"output":"{\\"n\\":1}"}');
	});

	it("a picture of 45 MB passes within 256 MB, and an idle adapter stays small", async () => {
		const scripted = await service();
		const picture = Buffer.alloc(47_185_920, 9);
		const server = await httpServer((_request, response) =>
			response.setHeader("content-type", "image/png").end(picture),
		);
		cleanups.push(() => server.close());
		const started = program([], { ...withMapping(scripted, { port: server.port }) });
		await scripted.until((one) => one.route === "job-take");
		const idle = memoryMb(started.pid, "VmRSS");
		scripted.give({ id: "a", input: 1 });
		await scripted.until((one) => one.route === "job-done");
		const peak = memoryMb(started.pid, "VmHWM");
		if (process.env["SLUICE_PRINT_MEMORY"]) process.stderr.write(`idle ${idle} MB, peak ${peak} MB\n`);
		expect(scripted.results()[0]!.length).toBeGreaterThan(62_914_560);
		expect(peak).toBeLessThan(256);
	});
});

/** A figure of Linux about a process. */
function memoryMb(pid: number, name: string): number {
	const { readFileSync } = process.getBuiltinModule("node:fs");
	const line = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
	return Math.round(Number(line?.[1]) / 1024);
}
