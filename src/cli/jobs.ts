/** `sluice jobs` (D36). */
import type { Action, CommandGroup } from "./command.ts";
import {
	JSON_FLAG,
	PAGE_FLAGS,
	YES_FLAG,
	confirm,
	printAnswer,
	printNextPage,
} from "./common-flags.ts";
import { jobText } from "./job-text.ts";
import { path, queryOf } from "./service-client.ts";
import { submit } from "./submit/submit.ts";
import { shortTime, table } from "./table.ts";

interface ListedJob {
	id: string;
	status: string;
	delayTime: number;
	executionTime: number;
	workerId?: string;
	submittedAt: string;
}

const FILTERS = {
	status: {
		value: "STATES",
		summary: "only these states, comma-separated, such as FAILED,TIMED_OUT",
	},
	worker: { value: "WORKER", summary: "only jobs whose current or last attempt is on this worker" },
	from: {
		value: "TIME",
		summary: "only jobs submitted at or after this time, such as 2026-01-31T12:00:00Z",
	},
	to: { value: "TIME", summary: "only jobs submitted before this time" },
	expired: { summary: "include jobs whose result has expired" },
} as const;

const list: Action = {
	name: "list",
	args: ["ENDPOINT"],
	summary: "list jobs, last submitted first",
	flags: { ...FILTERS, ...PAGE_FLAGS, ...JSON_FLAG },
	async run(input) {
		const [endpoint = ""] = input.args;
		const query = queryOf(input.flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]);
		const answer = await input.service.request(
			"GET",
			path`/v1/endpoints/${endpoint}/jobs?${query}`,
		);
		const { jobs, next } = answer.json as { jobs: ListedJob[]; next: string | null };
		printAnswer(answer, input, () => {
			if (jobs.length > 0)
				return table(
					["ID", "STATUS", "SUBMITTED", "IN QUEUE MS", "RUN MS", "WORKER"],
					jobs.map(row),
				);
			if (next !== null) return "No matching jobs on this page.\n";
			return query.size > 0
				? "No matching jobs.\n"
				: `Endpoint '${endpoint}' has no jobs. Submit one: sluice jobs submit ${endpoint} --input '{"prompt": "hi"}'\n`;
		});
		printNextPage(next, input);
		return 0;
	},
};

function row(job: ListedJob): (string | number | undefined)[] {
	const { id, status, submittedAt, delayTime, executionTime, workerId } = job;
	return [id, status, shortTime(submittedAt), delayTime, executionTime, workerId];
}

const get: Action = {
	name: "get",
	args: ["ENDPOINT", "JOB"],
	summary: "print a job with its timeline and the reason why it waits",
	flags: JSON_FLAG,
	async run(input) {
		const [endpoint = "", job = ""] = input.args;
		const answer = await input.service.request("GET", path`/v1/endpoints/${endpoint}/jobs/${job}`);
		return printAnswer(answer, input, () => jobText(answer, endpoint));
	},
};

function jobAction(name: "cancel" | "retry", summary: string): Action {
	return {
		name,
		summary,
		args: ["ENDPOINT", "JOB"],
		flags: JSON_FLAG,
		async run(input) {
			const [endpoint = "", job = ""] = input.args;
			const answer = await input.service.request("POST", path`/v2/${endpoint}/${name}/${job}`);
			const { status } = answer.json as ListedJob;
			return printAnswer(answer, input, () => `Job ${job} is ${status}.\n`);
		},
	};
}

const purge: Action = {
	name: "purge",
	args: ["ENDPOINT"],
	summary: "remove all queued jobs",
	flags: { ...YES_FLAG, ...JSON_FLAG },
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
		jobAction("cancel", "cancel a queued or running job"),
		jobAction("retry", "queue a FAILED or TIMED_OUT job again"),
		purge,
	],
};
