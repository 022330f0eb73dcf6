/** `sluice jobs cancel` and `retry`: jobs by id, or all that fit a filter (D36, D39). */
import type { Bulk } from "../api/job-records.ts";
import type { Action, ActionInput } from "./command.ts";
import { JSON_FLAG, YES_FLAG, confirm } from "./common-flags.ts";
import { CliError } from "./errors.ts";
import { path, type ServiceClient } from "./service-client.ts";
import { stateStyled } from "./style.ts";

type Operation = "cancel" | "retry";

/** Filters of bulk calls, and of lists of jobs. */
export const JOB_FILTERS = {
	status: { value: "STATES", summary: "only these states, comma-separated, such as FAILED,TIMED_OUT" },
	worker: { value: "WORKER", summary: "only jobs whose current or last attempt is on this worker" },
	from: { value: "TIME", summary: "only jobs submitted at or after this time, such as 2026-01-31T12:00:00Z" },
	to: { value: "TIME", summary: "only jobs submitted before this time" },
	search: { value: "TEXT", summary: "only jobs with this text in their id, worker, error or input" },
} as const;

const DONE: Readonly<Record<Operation, string>> = { cancel: "Cancelled", retry: "Queued again" };

export function bulkAction(name: Operation, summary: string, examples: readonly string[]): Action {
	return {
		name,
		summary,
		args: ["ENDPOINT", "[JOB...]"],
		flags: {
			...JOB_FILTERS,
			all: { summary: name === "cancel" ? "all queued and running jobs" : "all that can be retried" },
			"dry-run": { summary: "only count the jobs of a filter" },
			...YES_FLAG,
			...JSON_FLAG,
		},
		examples,
		async run(input) {
			const [endpoint = "", ...ids] = input.args;
			const { flags } = input;
			const filters = [...Object.keys(JOB_FILTERS), "all"].filter((each) => flags[each] !== undefined);
			if (ids.length > 0 && filters.length > 0)
				throw new CliError(`Pass either jobs or a filter: --${filters[0]} cannot be combined with ids.`);
			if (ids.length > 0) return await eachJob(input, { name, endpoint, ids: ids as string[] });
			if (filters.length === 0)
				throw new CliError(
					`Pass the id of a job, a filter such as --status ${name === "cancel" ? "IN_QUEUE" : "FAILED"}, or --all.`,
				);
			return await byFilter(input, { name, endpoint });
		},
	};
}

async function eachJob(
	{ service, flags }: ActionInput,
	q: { name: Operation; endpoint: string; ids: readonly string[] },
): Promise<number> {
	for (const id of q.ids) {
		const { text, json } = await service.request("POST", path`/v2/${q.endpoint}/${q.name}/${id}`);
		const { status } = json as { status: string };
		process.stdout.write(flags["json"] ? `${text}\n` : `Job ${id} is ${stateStyled(status)}.\n`);
	}
	return 0;
}

async function byFilter(
	input: ActionInput,
	{ name, endpoint }: { name: Operation; endpoint: string },
): Promise<number> {
	const { flags, service } = input;
	const { status, worker, from, to, search } = flags;
	const filter = { ...(status && { status: status.split(",") }), worker, from, to, search };
	const url = path`/v1/endpoints/${endpoint}/jobs/${name}`;
	const found = await count(service, url, filter);
	const jobs = `${found.matched}${found.more ? " or more" : ""} ${found.matched === 1 ? "job" : "jobs"}`;
	const isDry = flags["dry-run"] !== undefined;
	if (isDry || found.matched === 0) {
		const text = found.matched === 0 ? "No matching jobs." : `${jobs} would be changed.`;
		const json = JSON.stringify({ ...found, done: 0 });
		process.stdout.write(flags["json"] ? `${json}\n` : `${text}\n`);
		return 0;
	}
	const verb = name === "cancel" ? "Cancel" : "Retry";
	await confirm(`${verb} ${jobs} of endpoint '${endpoint}'?`, input);
	let done = 0;
	let matched = 0;
	for (let cursor: string | null = null; ; ) {
		const answer = await send(service, url, { filter, ...(cursor !== null && { cursor }) });
		done += answer.done;
		matched += answer.matched;
		cursor = answer.next;
		if (cursor === null) break;
		if (process.stderr.isTTY) process.stderr.write(`\r${DONE[name]}: ${done}`);
	}
	if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
	process.stdout.write(
		flags["json"]
			? `${JSON.stringify({ matched, done })}\n`
			: `${DONE[name]}: ${done} ${done === 1 ? "job" : "jobs"}.\n`,
	);
	return 0;
}

/** Counts the first 10,000 or so; `more` if there are others. */
async function count(service: ServiceClient, url: string, filter: object): Promise<{ matched: number; more: boolean }> {
	let matched = 0;
	for (let cursor: string | null = null; ; ) {
		const answer = await send(service, url, { filter, dryRun: true, ...(cursor !== null && { cursor }) });
		matched += answer.matched;
		cursor = answer.next;
		if (cursor === null || matched >= 10_000) return { matched, more: cursor !== null };
	}
}

async function send(service: ServiceClient, url: string, body: object): Promise<Bulk> {
	return (await service.request("POST", url, body)).json as Bulk;
}
