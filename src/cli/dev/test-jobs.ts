/**
 * Jobs that `sluice dev` sends itself: `test_input.json`, and the acceptance run of
 * `.runpod/tests.json` (D36). They take the way of every client.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { EndedJob, JobCalls } from "../submit/job-calls.ts";
import { CliError } from "../command.ts";
import type { HubTest } from "./hub-repository.ts";
import { membersOf } from "../json-members.ts";
import { plain, table } from "../table.ts";

/** Longest output that is shown, in characters. */
const LONGEST = 4000;
/** Shortest execution timeout that may be asked for, ms (spec 2.4). */
const SHORTEST_TIMEOUT_MS = 5001;

/** Submits `test_input.json` and answers a line about its result. */
export async function runTestInput(calls: JobCalls, path: string): Promise<string> {
	const text = readFileSync(path, "utf8");
	const found = membersOf(text, ["input"]);
	if (!found.ok) throw new CliError(`${path} is not JSON: ${found.fault}`);
	const { input } = found.texts;
	if (input === undefined)
		throw new CliError(
			`${path} must be an object with a member "input", such as {"input": {"prompt": "hi"}}.`,
		);
	const job = await calls.ended(await calls.submit(`{"input":${input}}`, randomUUID()));
	// Why a job failed is told with its end.
	return job.status === "COMPLETED"
		? `output ${shown(job.output ?? "none")}`
		: `no output: the job is ${job.status}`;
}

function shown(text: string): string {
	const line =
		text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
	return plain(line.replaceAll("\n", " "));
}

/** Runs the tests one after the other; answers a table and whether all passed. */
export async function runTests(
	calls: JobCalls,
	tests: readonly HubTest[],
): Promise<{ text: string; passed: boolean }> {
	const rows: (string | number)[][] = [];
	for (const test of tests) {
		const policy =
			test.timeoutMs === undefined
				? ""
				: `,"policy":{"executionTimeout":${Math.max(SHORTEST_TIMEOUT_MS, Math.ceil(test.timeoutMs))}}`;
		const job = await calls.ended(
			await calls.submit(`{"input":${JSON.stringify(test.input)}${policy}}`, randomUUID()),
		);
		const { executionTime } = JSON.parse(job.text) as { executionTime: number };
		const fault = faultOf(test, job, executionTime);
		rows.push([fault === undefined ? "passed" : "FAILED", test.name, executionTime, fault ?? ""]);
	}
	const failed = rows.filter(([result]) => result !== "passed").length;
	const verdict =
		failed === 0 ? `All ${rows.length} tests passed.` : `${failed} of ${rows.length} tests failed.`;
	return { text: `${table(["RESULT", "TEST", "MS", ""], rows)}${verdict}\n`, passed: failed === 0 };
}

/** What is wrong with a test's result; undefined when nothing is. */
function faultOf(
	{ timeoutMs, expected }: HubTest,
	{ status, output, error }: EndedJob,
	ms: number,
): string | undefined {
	if (status !== "COMPLETED")
		return `${status}${error === undefined ? "" : `: ${shown(String(JSON.parse(error)))}`}`;
	if (timeoutMs !== undefined && ms > timeoutMs)
		return `took longer than its timeout of ${timeoutMs} ms`;
	if (expected !== undefined) {
		const got: unknown = output === undefined ? undefined : JSON.parse(output);
		if (!isDeepStrictEqual(got, expected))
			return `expected ${shown(JSON.stringify(expected))}, got ${shown(output ?? "no output")}`;
	}
	return undefined;
}
