/** `sluice dev`: what it prints of jobs, `.env`, and its keys at a terminal (D36). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, type TestContext } from "vitest";
import { SLUICE } from "./command.ts";
import { HELLO, result, room, session } from "./dev-session.ts";
import { isAlive } from "./site.ts";
import { until, within } from "../support/until.ts";

/** A session at a terminal of its own: `type` writes what a user types there. */
function terminal(test: TestContext, cwd: string, env: Record<string, string> = {}) {
	const typist = "import os, pty, sys\npty.spawn(sys.argv[1:])\n";
	const child = spawn("python3", ["-c", typist, process.execPath, SLUICE, "dev", "handler.js", "--port", "0"], {
		cwd,
		// Node takes a terminal in CI for one without colours.
		env: { ...process.env, FORCE_COLOR: undefined, CI: undefined, ...env },
		stdio: ["pipe", "pipe", "inherit"],
	});
	test.onTestFinished(() => void child.kill("SIGKILL"));
	let said = "";
	child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
	const ended = once(child, "close");
	return {
		type: (text: string) => child.stdin.write(text),
		said: () => said,
		says: (what: RegExp) => until(`${what} in:\n${said}`, () => what.exec(said) ?? undefined),
		ended: () => within("dev to end", ended),
	};
}

describe("sluice dev", () => {
	it.concurrent("D36: prints chunks and progress as they come, and no empty output after chunks", async (test) => {
		const { cwd, write } = room(test, {
			"handler.js":
				"export default async function* (job, { progress }) {\n" +
				"  await progress({ percent: 5 });\n  await new Promise((done) => setTimeout(done, 300));\n" +
				'  yield "one";\n  yield { two: 2 };\n}\n',
		});
		const dev = await session(test, cwd, "handler.js");
		await result(dev, {});
		await dev.says(/job \S+ started/);
		await dev.says(/job \S+ progress \{"percent":5\}/);
		await dev.says(/job \S+ one\n/);
		await dev.says(/job \S+ chunk \{"two":2\}/);
		await dev.says(/job \S+ done in \d+ ms, 2 chunks\n/);
		expect(dev.stdout()).not.toContain("output");
		write("handler.js", HELLO);
		await dev.says(/restarting worker/);
		await result(dev, { name: "Ann" });
		await dev.says(/output \{"hello":"Ann"/);
	});

	it.concurrent("D36: a failure is one stack with the user's frames; --verbose has the whole", async (test) => {
		const { cwd } = room(test, {
			"handler.js":
				"function load() {\n  throw new Error('no such model');\n}\n" +
				"export default async (job, { log }) => {\n  log('not shown', 'DEBUG');\n  load();\n};\n",
		});
		const dev = await session(test, cwd, "handler.js");
		await result(dev, {});
		const [text] = await dev.says(/job \S+ FAILED in \d+ ms: Error: no such model\n[^]*\n.*--verbose/);
		expect(text.match(/^ +at /gm)).toHaveLength(2);
		expect(text).toMatch(/at load .*handler\.js:2/);
		expect(dev.stdout().match(/no such model/g)).toHaveLength(1);
		expect(dev.stdout()).not.toContain("not shown");
		await dev.close();
		const verbose = await session(test, cwd, "handler.js", "--verbose");
		await result(verbose, {});
		await verbose.says(/worker \| DEBUG +\S+ not shown/);
		await verbose.says(/FAILED in \d+ ms: Error: no such model\n[^]*dist\/worker\/\w+\.js/);
	});

	it.concurrent("D36: variables of .env reach the worker, again after a change; the shell's win", async (test) => {
		const { cwd, write } = room(test, {
			"handler.js": "export default async () => [process.env.WEIGHTS, process.env.HOME];\n",
			".env": "WEIGHTS='small ones'\nHOME=/elsewhere\n",
		});
		const dev = await session(test, cwd, "handler.js");
		await dev.says(/From \.env: WEIGHTS\./);
		expect((await result(dev, {})).output).toEqual(["small ones", process.env["HOME"]]);
		write(".env", "WEIGHTS=large\n");
		await dev.says(/\.env changed: restarting worker/);
		expect((await result(dev, {})).output[0]).toBe("large");
	});

	it.concurrent("D36: Enter sends the first input of tests.json where there is no test_input.json", async (test) => {
		const tests = [
			{ name: "first", input: { name: "Ann" } },
			{ name: "second", input: { name: "Bo" } },
		];
		const { cwd } = room(test, {
			"handler.js": HELLO,
			".runpod/tests.json": JSON.stringify({ tests }),
		});
		const dev = terminal(test, cwd);
		await dev.says(/Enter.* sends test 'first'/);
		dev.type("\r");
		await dev.says(/output \{"hello":"Ann"/);
		dev.type("q");
		await dev.ended();
	});

	it.concurrent("D36: with no input Enter repeats the last job; c cancels, i and o print addresses", async (test) => {
		const { cwd, write } = room(test, {
			"handler.js": HELLO,
		});
		const dev = terminal(test, cwd, { BROWSER: "true" });
		await dev.says(/Enter.* sends the last input again/);
		dev.type("\r");
		await dev.says(/No input to send: create test_input\.json/);
		dev.type("i");
		await dev.says(/RUNPOD_ENDPOINT_BASE_URL=(\S+)\/sdk\/v2/);
		dev.type("o");
		await dev.says(/console\/#\/link\/[0-9a-f]{48}[^]*\d\d:\d\d:\d\d[^]*console\/#\/link\/[0-9a-f]{48}/);
		const [, url = "", key = ""] = await dev.says(/SLUICE_URL=(\S+) SLUICE_API_KEY=([a-z0-9_]+)/);
		const [, endpoint = ""] = await dev.says(/\/v2\/([^/]+)\/runsync/);
		expect((await result({ url, key, endpoint }, { name: "Cy" })).output.hello).toBe("Cy");
		dev.type("\r");
		await dev.says(/"Cy"[^]*"Cy"/);
		write("handler.js", "export default async () => new Promise(() => setInterval(() => {}, 1000));\n");
		await dev.says(/handler\.js changed/);
		dev.type("\r");
		const [, id] = await dev.says(/changed[^]*job ([^\s…]+) .*queued/);
		dev.type("c");
		await dev.says(new RegExp(`Cancelling ${id}`));
		await dev.says(new RegExp(`job …${id?.slice(-6)} .*CANCELLED`));
		expect(dev.said()).not.toContain("requeued");
		dev.type("\u0003");
		await dev.ended();
	});

	it.concurrent("D36: states have colours on a terminal, none with NO_COLOR or into a file", async (test) => {
		const { cwd } = room(test, {
			"handler.js": HELLO,
			"test_input.json": '{"input": {"name": "Ann"}}',
		});
		const coloured = terminal(test, cwd, { TERM: "xterm-256color", NO_COLOR: "" });
		await coloured.says(/sends test_input\.json/);
		coloured.type("\r");
		await until("a green state", () => coloured.said().includes("\u001b[32mdone"));
		coloured.type("q");
		await coloured.ended();
		const plain = terminal(test, cwd, { TERM: "xterm-256color", NO_COLOR: "1" });
		await plain.says(/sends test_input\.json/);
		plain.type("\r");
		const [, pid] = await plain.says(/"pid":(\d+)/);
		plain.type("q");
		await plain.ended();
		expect(plain.said()).not.toContain("\u001b[3");
		expect(isAlive(Number(pid))).toBe(false);
	});
});
