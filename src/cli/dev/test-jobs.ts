/** Jobs that `sluice dev` sends: samples, and the tests of `.runpod/tests.json` (D36). */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { EndedJob, JobCalls } from "../submit/job-calls.ts";
import { table } from "../table.ts";
import { printable } from "../../core/terminal-text.ts";
import type { HubTest } from "./hub-repository.ts";
import type { SampleInput } from "./inputs.ts";

/** Longer outputs are cut, characters. */
const MAX_OUTPUT = 4000;
/** Minimum of the service, ms (spec 2.4). */
const MIN_TIMEOUT_MS = 5001;

/** Queues a sample as a job; its lines are printed as those of any job. */
export async function sendSample(calls: JobCalls, { body }: SampleInput): Promise<void> {
	await calls.submit(body, randomUUID());
}

async function runJob(calls: JobCalls, body: string): Promise<EndedJob> {
	return await calls.ended(await calls.submit(body, randomUUID()));
}

function shorten(text: string): string {
	const line = text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT)}… (${text.length} characters)` : text;
	return printable(line.replaceAll("\n", " "));
}

/** Runs tests one after another; returns a table. */
export async function runTests(calls: JobCalls, tests: readonly HubTest[]): Promise<{ text: string; passed: boolean }> {
	const rows: (string | number)[][] = [];
	for (const test of tests) {
		const { input, timeoutMs } = test;
		const executionTimeout = timeoutMs === undefined ? undefined : Math.max(MIN_TIMEOUT_MS, Math.ceil(timeoutMs));
		const policy = executionTimeout === undefined ? {} : { policy: { executionTimeout } };
		const job = await runJob(calls, JSON.stringify({ input, ...policy }));
		const { executionTime } = JSON.parse(job.text) as { executionTime: number };
		const failure = failureOf(test, job, executionTime);
		rows.push([failure === undefined ? "passed" : "FAILED", test.name, executionTime, failure ?? ""]);
	}
	const failed = rows.filter(([result]) => result !== "passed").length;
	const verdict = failed === 0 ? `All ${rows.length} tests passed.` : `${failed} of ${rows.length} tests failed.`;
	return { text: `${table(["RESULT", "TEST", "MS", ""], rows)}${verdict}\n`, passed: failed === 0 };
}

/** Undefined if the test passed. */
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
