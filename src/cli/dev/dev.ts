/** `sluice dev`: service and worker in one terminal; the worker restarts on changes (D36). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Action, FlagValues } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import { HEAP_FLAGS } from "../serve/serve.ts";
import { printNotes, readTests, unusedNote, type HubTest } from "../repository/hub.ts";
import { startDev } from "./service.ts";
import { crashText, onStopSignal, session, silenceText } from "./session.ts";
import { openState } from "./state.ts";
import { devTarget, type DevTarget } from "./target.ts";
import type { EndedJob, JobCalls } from "../submit/job-calls.ts";
import { table } from "../framework/table.ts";
import { printTimed as print } from "../framework/timed-line.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";

export const dev: Action = {
	name: "dev",
	summary: "run a handler with a local service and restart it on changes",
	args: ["[HANDLER]"],
	local: true,
	synopsis: "HANDLER | FOLDER | -- COMMAND [options]",
	rest: true,
	flags: {
		port: { value: "PORT", summary: "port to listen on (default 8080, or a free one when that is in use)" },
		endpoint: { value: "ID", summary: "id of the endpoint (default: from the name of the file or folder)" },
		run: { summary: "send test_input.json, or the first of .runpod/tests.json, as the first job" },
		test: { summary: "run the tests of .runpod/tests.json, print a table and exit; exit code 1 if one fails" },
		preset: {
			value: "NAME",
			summary: "take the variables of this preset of .runpod/hub.json; with --http: the kind of server (default raw)",
		},
		http: {
			value: "PORT",
			summary: "the command starts an HTTP server on this port, which gets each job as a request",
		},
		fresh: { summary: "start with an empty queue instead of that of the last run" },
		verbose: {
			short: "v",
			summary: "also debugging lines of the SDKs, whole stack traces, addresses for all clients",
		},
	},
	examples: [
		"sluice dev handler.ts",
		"sluice dev path/to/repository --test",
		"sluice dev -- python3 worker.py",
		"sluice dev --http 8000 -- python3 server.py",
	],
	env: { BROWSER: "program that the key o opens the console with" },
	async run({ args: [path], flags, rest: command }) {
		if (path !== undefined && command.length > 0)
			throw new CliError(`Unexpected argument '${path}'. Usage: sluice dev ${dev.synopsis}`);
		const { endpoint, preset, http } = flags;
		const target = devTarget({ path, command, endpoint, preset, http, cwd: process.cwd(), env: process.env });
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		return flags["test"] ? await testSession(target, flags) : await session(target, flags);
	},
};

async function testSession(target: DevTarget, flags: FlagValues): Promise<number> {
	const { tests, env: testEnv, unused } = readTests(target.folder);
	printNotes(unusedNote(unused));
	const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
	const { requested } = onStopSignal();
	const crashed = Promise.withResolvers<never>();
	try {
		const { worker, calls, stop } = await startDev({
			target,
			testEnv,
			state: openState({ folder, fresh: false }),
			port: flags["port"] ?? "0",
			verbose: flags["verbose"] !== undefined,
			env: process.env,
			print,
			onCrash: (crash) => crashed.reject(new CliError(crashText(crash, target), 1)),
			onSilence: () => print(silenceText(target)),
		});
		let outcome: Awaited<ReturnType<typeof runTests>>;
		try {
			worker.restart();
			const stopped = requested.then(() => Promise.reject(new CliError("Interrupted before all tests had run.", 130)));
			outcome = await Promise.race([runTests(calls, tests), crashed.promise, stopped]);
		} finally {
			await stop();
		}
		process.stdout.write(`\n${outcome.text}`);
		return outcome.passed ? 0 : 1;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

const MAX_OUTPUT = 4000;
/** Minimum of the service, ms (spec 2.4). */
const MIN_TIMEOUT_MS = 5001;

async function runTests(calls: JobCalls, tests: readonly HubTest[]): Promise<{ text: string; passed: boolean }> {
	const rows: (string | number)[][] = [];
	for (const test of tests) {
		const { input, timeoutMs } = test;
		const policy = timeoutMs && { executionTimeout: Math.max(MIN_TIMEOUT_MS, Math.ceil(timeoutMs)) };
		const job = await calls.ended(await calls.submit(JSON.stringify({ input, policy }), randomUUID()));
		const { executionTime } = JSON.parse(job.text) as { executionTime: number };
		const failure = failureOf(test, job, executionTime);
		rows.push([failure === undefined ? "passed" : "FAILED", test.name, executionTime, failure ?? ""]);
	}
	const failed = rows.filter(([result]) => result !== "passed").length;
	const verdict = failed === 0 ? `All ${rows.length} tests passed.` : `${failed} of ${rows.length} tests failed.`;
	return { text: `${table(["RESULT", "TEST", "MS", ""], rows)}${verdict}\n`, passed: failed === 0 };
}

function failureOf(test: HubTest, job: EndedJob, executionMs: number): string | undefined {
	const { timeoutMs, expected } = test;
	const { status, output, error } = job;
	if (status !== "COMPLETED") return `${status}${error === undefined ? "" : `: ${shorten(String(JSON.parse(error)))}`}`;
	if (timeoutMs !== undefined && executionMs > timeoutMs) return `took longer than its timeout of ${timeoutMs} ms`;
	if (expected === undefined) return undefined;
	const actual: unknown = output === undefined ? undefined : JSON.parse(output);
	return isDeepStrictEqual(actual, expected)
		? undefined
		: `expected ${shorten(JSON.stringify(expected))}, got ${shorten(output ?? "no output")}`;
}

function shorten(text: string): string {
	const line = text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT)}… (${text.length} characters)` : text;
	return printable(line.replaceAll("\n", " "));
}
