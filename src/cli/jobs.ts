/** `sluice jobs` (D36). */
import type { JobList, JobSummary } from "../api/job-records.ts";
import { systemClock } from "../clock.ts";
import { JOB_FILTERS, bulkAction } from "./bulk-jobs.ts";
import type { Action, ActionInput, CommandGroup } from "./command.ts";
import { JSON_FLAG, PAGE_FLAGS, YES_FLAG, confirm, printAnswer, printNextPage } from "./common-flags.ts";
import { jobText } from "./job-text.ts";
import { path, queryOf } from "./service-client.ts";
import { submit } from "./submit/submit.ts";
import { shortTime, table, tableRow } from "./table.ts";

const FILTERS = { ...JOB_FILTERS, expired: { summary: "include jobs whose result has expired" } } as const;

const list: Action = {
	name: "list",
	args: ["ENDPOINT"],
	summary: "list jobs, last submitted first",
	flags: {
		...FILTERS,
		follow: { short: "f", summary: "print new jobs and changes of state until Ctrl-C" },
		...PAGE_FLAGS,
		...JSON_FLAG,
	},
	examples: ["sluice jobs list hello --status FAILED,TIMED_OUT", "sluice jobs list hello --follow"],
	async run(input) {
		if (input.flags["follow"] !== undefined) return await follow(input);
		const [endpoint = ""] = input.args;
		const query = queryOf(input.flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]);
		const answer = await input.service.request("GET", path`/v1/endpoints/${endpoint}/jobs?${query}`);
		const { jobs, next } = answer.json as JobList;
		printAnswer(answer, input, () => {
			if (jobs.length > 0) return table(HEADINGS, jobs.map(row));
			if (next !== null) return "No matching jobs on this page.\n";
			return query.size > 0
				? "No matching jobs.\n"
				: `Endpoint '${endpoint}' has no jobs. Submit one: sluice jobs submit ${endpoint} --input '{"prompt": "hi"}'\n`;
		});
		printNextPage(next, input);
		return 0;
	},
};

const HEADINGS = ["ID", "STATUS", "SUBMITTED", "IN QUEUE MS", "RUN MS", "WORKER"];

/** Widths of the id, the longest state, and a time. */
const WIDTHS = [41, 11, 20, 11, 9];

/** Pause between two reads, ms. */
const FOLLOW_MS = 1000;

/** A row for each job that is new or has another state; of the 100 submitted last. */
async function follow({ args: [endpoint = ""], flags, service }: ActionInput): Promise<number> {
	const query = queryOf({ ...flags, limit: flags["limit"] ?? "100" }, [...Object.keys(FILTERS), "limit"]);
	const url = path`/v1/endpoints/${endpoint}/jobs?${query}`;
	let seen = new Map<string, string>();
	for (let isFirst = true; ; isFirst = false) {
		const { jobs } = (await service.request("GET", url)).json as JobList;
		if (isFirst && !flags["json"]) process.stdout.write(tableRow(HEADINGS, WIDTHS));
		for (const job of jobs.toReversed())
			if (seen.get(job.id) !== job.status)
				process.stdout.write(flags["json"] ? `${JSON.stringify(job)}\n` : tableRow(row(job), WIDTHS));
		seen = new Map(jobs.map(({ id, status }) => [id, status]));
		await systemClock.sleep(FOLLOW_MS);
	}
}

function row(job: JobSummary): (string | number | undefined)[] {
	const { id, status, submittedAt, delayTime, executionTime, workerId } = job;
	return [id, status, shortTime(submittedAt), delayTime, executionTime, workerId];
}

const get: Action = {
	name: "get",
	args: ["ENDPOINT", "JOB"],
	summary: "print a job with its timeline and the reason why it waits",
	flags: JSON_FLAG,
	examples: ["sluice jobs get hello 01a1fe89-4aef-7775-8192-266968f696d3"],
	async run(input) {
		const [endpoint = "", job = ""] = input.args;
		const answer = await input.service.request("GET", path`/v1/endpoints/${endpoint}/jobs/${job}`);
		return printAnswer(answer, input, () => jobText(answer, endpoint));
	},
};

const purge: Action = {
	name: "purge",
	args: ["ENDPOINT"],
	summary: "remove all queued jobs",
	flags: { ...YES_FLAG, ...JSON_FLAG },
	examples: ["sluice jobs purge hello --yes"],
	async run(input) {
		const [endpoint = ""] = input.args;
		await confirm(`Remove all queued jobs of endpoint '${endpoint}'?`, input);
		const answer = await input.service.request("POST", path`/v2/${endpoint}/purge-queue`);
		const { removed } = answer.json as { removed: number };
		return printAnswer(answer, input, () => `Removed ${removed} queued jobs.\n`);
	},
};

export const jobs: CommandGroup = {
	name: "jobs",
	summary: "submit, list, inspect, cancel and retry jobs",
	actions: [
		list,
		get,
		submit,
		bulkAction("cancel", "cancel queued or running jobs", [
			"sluice jobs cancel hello 01a1fe89-4aef-7775-8192-266968f696d3",
			"sluice jobs cancel hello --status IN_QUEUE --to 2026-01-31T12:00:00Z",
		]),
		bulkAction("retry", "queue FAILED or TIMED_OUT jobs again", [
			"sluice jobs retry hello --status FAILED --from 2026-01-31T12:00:00Z --dry-run",
			"sluice jobs retry hello --search 'out of memory'",
		]),
		purge,
	],
};
