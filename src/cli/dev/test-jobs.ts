/** Runs `.runpod/tests.json` as jobs of `sluice dev` (D36). */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { EndedJob, JobCalls } from "../submit/job-calls.ts";
import { table } from "../framework/table.ts";
import { printable } from "../../lib/terminal-text.ts";
import type { HubTest } from "../repository/hub.ts";

const MAX_OUTPUT = 4000;
/** Minimum of the service, ms (spec 2.4). */
const MIN_TIMEOUT_MS = 5001;

export async function runTests(calls: JobCalls, tests: readonly HubTest[]): Promise<{ text: string; passed: boolean }> {
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
