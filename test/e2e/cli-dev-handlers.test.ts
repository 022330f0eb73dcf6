/** `sluice dev`: which handlers it runs, and what it says of those it cannot run (D36). */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { sluice } from "./command.ts";
import { within } from "../support/until.ts";
import { ROOT, room, session, result, HELLO } from "./dev-session.ts";

describe("sluice dev", () => {
	it.concurrent("D36: a handler that calls start() itself, and a whole command, run as they are", async (test) => {
		const { cwd } = room(test, {
			"own.js":
				'import { start } from "sluice/worker";\nexport default () => "not this";\n' +
				"await start({ handler: (job) => `own ${job.input.name}`, concurrency: 2 });\n",
			"package.json": '{"type": "module"}',
		});
		const own = await session(test, cwd, "own.js");
		expect(own.endpoint).toBe("own");
		expect((await result(own, { name: "x" })).output).toBe("own x");
		await own.close();
		const kit = join(ROOT, "dist/worker/index.js");
		writeFileSync(join(cwd, "own.js"), readFileSync(join(cwd, "own.js"), "utf8").replace("sluice/worker", kit));
		const command = await session(test, cwd, "--endpoint", "words", "--", process.execPath, "own.js");
		expect((await result(command, { name: "y" })).output).toBe("own y");
		expect(command.endpoint).toBe("words");
	});

	it.concurrent("D21: webhooks may go to this machine", async (test) => {
		const { cwd } = room(test, { "handler.js": HELLO });
		const server = createServer((_, res) => void res.end()).listen(0, "127.0.0.1");
		test.onTestFinished(() => void server.close());
		await once(server, "listening");
		const dev = await session(test, cwd, "handler.js");
		const received = once(server, "request");
		await call(dev.url, `/v2/${dev.endpoint}/run`, {
			key: dev.key,
			body: { input: {}, webhook: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` },
		});
		await within("the webhook", received);
	});

	it.concurrent("D36: a Python handler without its SDK is exit 1 with a hint; one without runs", async (test) => {
		const { cwd, write } = room(test, {
			"handler.py": "import runpod\nrunpod.serverless.start({'handler': lambda job: job})\n",
			// Without any installed package, whatever this machine has.
			".venv/bin/python": '#!/bin/sh\nexec env -u PYTHONPATH python3 -s -S "$@"\n',
		});
		execFileSync("chmod", ["+x", join(cwd, ".venv/bin/python")]);
		const { code, stdout, stderr } = await sluice(test, ["dev", "handler.py", "--port", "0"], {
			cwd,
		});
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toMatch(/^handler\.py imports runpod, which \S+\.venv\/bin\/python does not have\..*\n/s);
		expect(stderr).toMatch(/\n {2}python3 -m venv \S+\.venv && \S+\.venv\/bin\/pip install runpod\n$/);
		expect(existsSync(join(cwd, ".sluice"))).toBe(false);

		write(
			"plain.py",
			[
				"import json, os, urllib.request",
				"worker, key = os.environ['RUNPOD_POD_ID'], {'Authorization': os.environ['RUNPOD_AI_API_KEY']}",
				"print('up', flush=False)",
				"take = os.environ['RUNPOD_WEBHOOK_GET_JOB'].replace('$ID', worker) + '&job_in_progress=0'",
				"job = json.load(urllib.request.urlopen(urllib.request.Request(take, headers=key)))",
				"done = os.environ['RUNPOD_WEBHOOK_POST_OUTPUT'].replace('$RUNPOD_POD_ID', worker).replace('$ID', " +
					"job['id']) + '&isStream=false'",
				"urllib.request.urlopen(urllib.request.Request(done, json.dumps({'output': job['input']['n'] " +
					"+ 1}).encode(), key))",
				"",
			].join("\n"),
		);
		const dev = await session(test, cwd, "plain.py");
		await dev.says(/worker \| up/);
		expect((await result(dev, { n: 1 })).output).toBe(2);
		// It ended well after its job: the next one is there already.
		expect((await result(dev, { n: 2 })).output).toBe(3);
	});

	it.concurrent("D36: says what cannot run, with the way out", async (test) => {
		const { cwd } = room(test, {
			"notes.txt": "",
			"handler.js": HELLO,
			"empty/notes.txt": "",
			"cut/handler.js": HELLO,
			"cut/test_input.json": '{"input": {',
			"bare/handler.js": HELLO,
			"bare/test_input.json": '\ufeff{"prompt": "hi"}',
		});
		const cases: [string[], number, RegExp][] = [
			[[], 2, /^Pass a handler, a folder or a command: sluice dev handler\.py/],
			[["absent.py"], 2, /^\S*absent\.py does not exist\./],
			[["notes.txt"], 2, /^Cannot run notes\.txt: unknown file type\. Pass the whole command/],
			[["empty"], 2, /^No handler found in .*empty: .*sluice dev .*empty\/FILE/],
			[["handler.js", "--run"], 2, /^There is no test_input\.json in /],
			[["cut", "--run"], 2, /test_input\.json is not JSON: The text is cut off/],
			[["bare", "--run"], 2, /test_input\.json must be an object with a member "input"/],
			[["handler.js", "more"], 2, /^Unexpected argument 'more'\./],
			[["handler.js", "--endpoint", "a b"], 2, /endpoints\.a b/],
			[["handler.js", "--port", "99999"], 2, /--port must be a whole number from 0 to 65535/],
		];
		for (const [args, code, says] of cases)
			expect(await sluice(test, ["dev", ...args], { cwd }), args.join(" ")).toMatchObject({
				code,
				stderr: expect.stringMatching(says),
			});
	});

	it("D36: sluice dev examples/thumbnail/worker.js works", async (test) => {
		test.onTestFinished(() => rmSync(join(ROOT, "examples/thumbnail/.sluice"), { recursive: true, force: true }));
		const dev = await session(test, ROOT, "examples/thumbnail/worker.js");
		expect(dev.endpoint).toBe("thumbnail");
		const image = readFileSync(join(ROOT, "examples/pictures/receipt.jpg")).toString("base64");
		const job = await result(dev, { image, sizes: [32] });
		expect(job).toMatchObject({ status: "COMPLETED", output: [{ format: "webp" }] });
		await dev.close();
	});
});
