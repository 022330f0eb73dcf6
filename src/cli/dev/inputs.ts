import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { JobList } from "../../api/job-records.ts";
import { CliError } from "../client/errors.ts";
import { membersOf } from "../framework/json-members.ts";
import { path } from "../client/service-client.ts";
import type { JobCalls } from "../submit/job-calls.ts";
import { hasTests, readTests } from "../repository/hub.ts";
import type { DevTarget } from "./target.ts";

export interface SampleInput {
	name: string;
	body: string;
}

/** Read at each call, since files may have changed. Throws {@link CliError}. */
export function sampleInputs({ testInput, folder }: DevTarget): SampleInput[] {
	const samples = testInput === undefined ? [] : [readTestInput(testInput)];
	if (hasTests(folder))
		for (const { name, input } of readTests(folder).tests)
			samples.push({ name: `test '${name}'`, body: JSON.stringify({ input }) });
	return samples;
}

function readTestInput(file: string): SampleInput {
	const found = membersOf(readFileSync(file, "utf8"), ["input"]);
	if (!found.ok) throw new CliError(`${file} is not JSON: ${found.fault}`);
	const { input } = found.texts;
	if (input === undefined)
		throw new CliError(`${file} must be an object with a member "input", such as {"input": {"prompt": "hi"}}.`);
	return { name: basename(file), body: `{"input":${input}}` };
}

export async function lastInput(calls: JobCalls, endpoint: string): Promise<SampleInput | undefined> {
	const list = await calls.request(path`/v1/endpoints/${endpoint}/jobs?limit=1`);
	const [job] = ((await list.json()) as JobList).jobs;
	if (!job) return undefined;
	const details = await calls.request(path`/v1/endpoints/${endpoint}/jobs/${job.id}`);
	const found = membersOf(await details.text(), ["input"]);
	const input = found.ok ? found.texts["input"] : undefined;
	return input === undefined ? undefined : { name: `the input of job ${job.id}`, body: `{"input":${input}}` };
}
