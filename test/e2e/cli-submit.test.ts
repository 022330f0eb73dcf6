/** `sluice jobs submit`: one job, or one for each line of a file (D36). */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY, call } from "../support/service.ts";
import { type Running, SLUICE, start } from "./command.ts";
import { managed, type Managed } from "./managed.ts";
import { jobAt } from "./site.ts";
import { until, within } from "../support/until.ts";

/** A service with an endpoint of diary workers. */
async function ready(test: TestContext, settings: object = {}): Promise<Managed> {
	return await managed(test, (place) => ({
		words: { ...place.launched(), workersMax: 1, idleTimeout: 60, ...settings },
	}));
}

/** A command that goes on while the test does something else. */
function begin(test: TestContext, { cwd, service }: Managed, ...args: string[]): Running {
	return start(test, ["jobs", "submit", "words", ...args], {
		cwd,
		env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
	});
}

interface Line {
	index: number;
	id?: string;
	status: string;
	output?: { n: number };
	error?: string;
}

function read(path: string): Line[] {
	return readFileSync(path, "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Line);
}

/** Every job that the endpoint has ever had. */
async function allJobs({ url }: { url: string }): Promise<string[]> {
	const ids: string[] = [];
	for (let cursor: string | null = null; ; ) {
		const from = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
		const { json }: { json: any } = await call(url, `/v1/endpoints/words/jobs?limit=100&expired=true${from}`);
		ids.push(...(json.jobs as { id: string }[]).map(({ id }) => id));
		cursor = json.next as string | null;
		if (cursor === null) return ids;
	}
}

describe("sluice jobs submit, one job", () => {
	it.concurrent("D36: prints the id; with --wait the exact output, and exit 1 unless it completed", async (test) => {
		const { stdoutOf, ask, service, cwd } = await ready(test);
		const id = (
			await stdoutOf("jobs", "submit", "words", "--input", '{"n": 1}', "--policy", "{ttl: 20000, lowPriority: false}")
		).trim();
		expect(await jobAt(service, "words", id)).toMatchObject({ id });
		expect(JSON.parse(await stdoutOf("jobs", "submit", "words", "--input", '{"n": 2}', "--wait"))).toMatchObject({
			n: 2,
		});
		writeFileSync(join(cwd, "test_input.json"), '{"id": "local", "input": {"n": 3}}\n');
		expect(
			JSON.parse(await stdoutOf("jobs", "submit", "words", "--input", "@test_input.json", "--wait", "--json")),
		).toMatchObject({ status: "COMPLETED", output: { n: 3 } });
		const late = await ask(
			"jobs",
			"submit",
			"words",
			"--input",
			'{"until": "never"}',
			"--policy",
			'{"executionTimeout": 5001}',
			"--wait",
		);
		expect(late).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(/^Job \S+ is TIMED_OUT: /),
		});
	});

	it.concurrent("D5, D36: the input goes out byte for byte, and --webhook gets the end", async (test) => {
		const { stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		const input = '{"seed": 18446744073709551615, "x": 1.0, "s": "\\u00e9"}';
		const id = (
			await stdoutOf("jobs", "submit", "words", "--input", input, "--webhook", "http://hooks.invalid/hook")
		).trim();
		const { text } = await call(service.url, `/v1/endpoints/words/jobs/${id}`);
		expect(text).toContain(`"input":${input}`);
		expect(text).toContain("http://hooks.invalid/hook");
	});

	it.concurrent("D36, D7: --stream prints each chunk as it comes", async (test) => {
		const place = await managed(test, () => ({ words: { launcher: { type: "external" } } }));
		const worker = join(place.cwd, "worker.mjs");
		const kit = new URL("../../dist/worker/index.js", import.meta.url).href;
		writeFileSync(
			worker,
			`import { start } from ${JSON.stringify(kit)};\n` +
				`import { existsSync } from "node:fs";\nawait start({ async *handler() { yield { ` +
				`text: "first\\n" }; while (!existsSync("go")) await new Promise((done) => setTimeout(done, ` +
				`20)); yield "second"; } });\n`,
		);
		const { json } = await call(
			place.service.url,
			`/v1/endpoints/words/worker-env?url=${encodeURIComponent(place.service.url)}`,
			{ method: "POST" },
		);
		place.place.spawn([process.execPath, worker], json.env as Record<string, string>);
		const running = begin(test, place, "--input", "{}", "--stream");
		await until("the first chunk", () => running.stdout() === '{"text":"first\\n"}\n');
		place.place.allow("go");
		expect(await within("the command", running.ended)).toEqual({
			code: 0,
			stdout: '{"text":"first\\n"}\n"second"\n',
			stderr: "",
		});
	});

	it.concurrent("D36: --stream prints the output of a job without chunks; a failure is a stack", async (test) => {
		const place = await ready(test);
		const { ask, stdoutOf } = place;
		expect(await stdoutOf("jobs", "submit", "words", "--input", '{"n":1}', "--stream")).toMatch(/^\{.*"n":1.*\}\n$/);
		const failed = await ask("jobs", "submit", "words", "--input", '{"fail":"no model"}', "--wait");
		expect(failed.code).toBe(1);
		expect(failed.stderr).toMatch(/^Job \S+ is FAILED: .*no model\n +at .*\n/s);
		expect(failed.stderr).not.toContain("error_traceback");
	});

	it.concurrent("D36: ends quietly when the reader of its output has ended", async (test) => {
		const { cwd, service, stdoutOf } = await ready(test);
		for (let n = 0; n < 3; n += 1) await stdoutOf("jobs", "submit", "words", "--input", "{}");
		const env = { ...process.env, SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const command = `"${process.execPath}" "${SLUICE}" jobs list words --json; echo "code $?" >&2`;
		const shell = spawn("bash", ["-c", `(${command}) | true`], { cwd, env });
		const stderr = await text(shell.stderr);
		expect(stderr).toBe("code 0\n");
	});

	it.concurrent("D36: says what is wrong with its input, exit 2, or what is refused, exit 1", async (test) => {
		const { ask } = await managed(test, () => ({ words: { launcher: { type: "external" } } }));
		const cases: [string[], number, RegExp][] = [
			[[], 2, /^Pass either --input JSON or --file inputs\.jsonl\.\n$/],
			[["--input", "{}", "--file", "x"], 2, /^Pass either --input/],
			[["--input", "{", "--wait"], 2, /^--input: It is not JSON: /],
			[["--input", "[]"], 2, /^--input: It must be a JSON object/],
			[["--input", "@absent.json"], 2, /^--input: cannot read the file absent\.json\.\n$/],
			[["--file", "absent.jsonl"], 2, /^--file: cannot read the file absent\.jsonl\.\n$/],
			[["--input", "{}", "--output", "x"], 2, /^--output cannot be combined with --input\.\n$/],
			[["--input", "{}", "--policy", "soon"], 2, /^--policy takes an object/],
			[["--input", "{}", "--policy", "{ttl: 5}"], 1, /policy\.ttl/],
		];
		for (const [args, code, says] of cases)
			expect(await ask("jobs", "submit", "words", ...args), args.join(" ")).toMatchObject({
				code,
				stdout: "",
				stderr: expect.stringMatching(says),
			});
		expect(await ask("jobs", "submit", "other", "--input", "{}")).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/There is no endpoint 'other'/),
		});
	});
});

describe("sluice jobs submit --file", () => {
	it.concurrent("D36: a result for each line; lines that are no input are named and stop nothing", async (test) => {
		const { ask, service, cwd } = await ready(test);
		const lines = [
			'{"n": 1}',
			"{oops",
			"",
			'{"input": {"n": 4}, "policy": {"ttl": 20000}}',
			"[5]",
			'{"n": 6, "s": "\u2028"}',
		];
		writeFileSync(join(cwd, "inputs.jsonl"), lines.join("\n"));
		const { code, stdout, stderr } = await ask(
			"jobs",
			"submit",
			"words",
			"--file",
			"inputs.jsonl",
			"--output",
			"results.jsonl",
		);
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toMatch(/^Line 2: It is not JSON: /m);
		expect(stderr).toMatch(/^Line 5: It must be a JSON object/m);
		expect(stderr).toMatch(/^5 lines: .*3 COMPLETED/m);
		const results = read(join(cwd, "results.jsonl")).toSorted((a, b) => a.index - b.index);
		expect(results).toMatchObject([
			{ index: 1, status: "COMPLETED", output: { n: 1 } },
			{ index: 2, status: "REFUSED", error: expect.stringMatching(/^It is not JSON/) },
			{ index: 4, status: "COMPLETED", output: { n: 4 } },
			{ index: 5, status: "REFUSED" },
			{ index: 6, status: "COMPLETED", output: { n: 6 } },
		]);
		expect(results.map(({ id }) => id !== undefined)).toEqual([true, false, true, false, true]);
		expect(await allJobs(service)).toHaveLength(3);
		// A second run changes nothing; another name submits again, to standard output here.
		expect(await ask("jobs", "submit", "words", "--file", "inputs.jsonl", "--output", "results.jsonl")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("5 lines"),
		});
		expect(read(join(cwd, "results.jsonl"))).toHaveLength(5);
		expect(await allJobs(service)).toHaveLength(3);
		const again = await ask("jobs", "submit", "words", "--file", "inputs.jsonl", "--batch", "second");
		expect(again.stdout.trim().split("\n")).toHaveLength(5);
		expect(await allJobs(service)).toHaveLength(6);
		expect(await ask("jobs", "submit", "words", "--file", "inputs.jsonl", "--output", "inputs.jsonl")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^inputs\.jsonl contains lines that are not results/),
		});
	});

	it.concurrent("D36, D14: after Ctrl-C the same command goes on; no job is lost, none is doubled", async (test) => {
		const all = await ready(test);
		const { cwd, service, place, ask } = all;
		const count = 60;
		writeFileSync(
			join(cwd, "inputs.jsonl"),
			Array.from({ length: count }, (_, n) => `{"n": ${n}${n >= 20 ? ', "until": "go"' : ""}}\n`).join(""),
		);
		const args = ["--file", "inputs.jsonl", "--output", "results.jsonl", "--concurrency", "8"];
		const first = begin(test, all, ...args);
		await until(
			"some results",
			() => existsSync(join(cwd, "results.jsonl")) && read(join(cwd, "results.jsonl")).length >= 20,
		);
		first.end("SIGINT");
		expect(await within("the command", first.ended)).toMatchObject({
			code: 130,
			stderr: expect.stringContaining("run the same command again"),
		});
		const before = read(join(cwd, "results.jsonl")).length;
		expect(before).toBeLessThan(count);
		// A crash of the command may leave half a line.
		writeFileSync(join(cwd, "results.jsonl"), `${readFileSync(join(cwd, "results.jsonl"), "utf8")}{"index":59,"id":"x`);
		place.allow("go");
		expect(await ask("jobs", "submit", "words", ...args)).toMatchObject({
			code: 0,
			stderr: expect.stringContaining(`${count} lines: ${count} COMPLETED.`),
		});
		const results = read(join(cwd, "results.jsonl"));
		expect(results.map(({ output }) => output?.n).toSorted((a, b) => a! - b!)).toEqual(
			Array.from({ length: count }, (_, n) => n),
		);
		expect(results.every(({ index, output }) => output?.n === index - 1)).toBe(true);
		expect((await allJobs(service)).toSorted()).toEqual(results.map(({ id }) => id!).toSorted());
	});

	it.concurrent("D36, D14, D17: it outlives a kill of the service; no job is lost, none is doubled", {
		timeout: 60_000,
	}, async (test) => {
		const all = await ready(test, { leaseMs: 2000 });
		const { cwd, place, service } = all;
		const count = 40;
		writeFileSync(
			join(cwd, "inputs.jsonl"),
			Array.from({ length: count }, (_, n) => `{"n": ${n}, "ms": 10}\n`).join(""),
		);
		const running = begin(test, all, "--file", "inputs.jsonl", "--output", "results.jsonl", "--concurrency", "5");
		await until(
			"some results",
			() => existsSync(join(cwd, "results.jsonl")) && read(join(cwd, "results.jsonl")).length >= 5,
		);
		await service.end("SIGKILL");
		await until("the command to notice", () => running.stderr().includes("No service answers"));
		const again = await place.serve();
		const { code, stderr } = await within("the command", running.ended, 50_000);
		expect({ code, stderr }).toMatchObject({
			code: 0,
			stderr: expect.stringContaining(`${count} lines: ${count} COMPLETED.`),
		});
		const results = read(join(cwd, "results.jsonl"));
		expect(results.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual(
			Array.from({ length: count }, (_, n) => n + 1),
		);
		expect((await allJobs(again)).toSorted()).toEqual(results.map(({ id }) => id!).toSorted());
	});

	it.concurrent("D36, D23: a full queue and a rate limit are waited out as Retry-After says", async (test) => {
		const asked: number[] = [];
		const server = createServer((req, res) => {
			if (req.url!.includes("/status-sync/"))
				return void res.end('{"id": "one", "status": "COMPLETED", "output": [\n1 ]}');
			asked.push(performance.now());
			if (asked.length === 1)
				return void res
					.writeHead(429, { "retry-after": "1" })
					.end('{"error": "Too many jobs wait.", "code": "queue_full"}');
			if (asked.length === 2)
				return void res
					.writeHead(503, { "retry-after": "1" })
					.end('{"error": "The store is unavailable.", "code": "store_unavailable"}');
			res.end('{"id": "one", "status": "IN_QUEUE"}');
		}).listen(0, "127.0.0.1");
		test.onTestFinished(() => void server.close());
		await once(server, "listening");
		const { cwd } = await managed(test);
		writeFileSync(join(cwd, "inputs.jsonl"), "{}\n");
		const running = start(test, ["jobs", "submit", "words", "--file", "inputs.jsonl"], {
			cwd,
			env: {
				SLUICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
				SLUICE_API_KEY: KEY,
			},
		});
		const { code, stdout, stderr } = await within("the command", running.ended);
		expect({ code, said: stderr }).toMatchObject({
			code: 0,
			said: expect.stringMatching(
				/^Too many jobs wait\. Retrying\.\nThe store is unavailable\. Retrying\.\n1 line: 1 COMPLETED\.\n$/,
			),
		});
		expect(stdout).toMatch(
			/^\{"index":1,"id":"one","status":"COMPLETED","output":\[ 1 \],"key":"batch-[0-9a-f]{64}"\}\n$/,
		);
		expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(990);
		expect(asked[2]! - asked[1]!).toBeGreaterThanOrEqual(990);
	});
});
