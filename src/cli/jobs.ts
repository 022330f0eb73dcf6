/** `sluice jobs`: jobs of an endpoint (D36). */
import { JSON_FLAG, PAGE_FLAGS, YES_FLAG, confirm, printed, tellNext } from "./common-flags.ts";
import { noun } from "./command.ts";
import type { Action } from "./command.ts";
import { jobText } from "./job-text.ts";
import { submit } from "./submit/submit.ts";
import { callService, path, queryOf } from "./service-client.ts";
import { short, table } from "./table.ts";

interface Listed {
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
		summary: "only these states, with commas between them, such as FAILED,TIMED_OUT",
	},
	worker: { value: "WORKER", summary: "only jobs whose present or last attempt is on this worker" },
	from: {
		value: "MOMENT",
		summary: "only jobs submitted then or later, such as 2026-01-31T12:00:00Z",
	},
	to: { value: "MOMENT", summary: "only jobs submitted before" },
	expired: { summary: "also jobs whose result has expired" },
} as const;

const list: Action = {
	name: "list",
	args: ["ENDPOINT"],
	summary: "jobs, the last submitted first",
	flags: { ...FILTERS, ...PAGE_FLAGS, ...JSON_FLAG },
	async run(given) {
		const [endpoint = ""] = given.args;
		const query = queryOf(given.flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]);
		const told = await callService(process.env).ask(
			"GET",
			path`/v1/endpoints/${endpoint}/jobs?${query}`,
		);
		const { jobs, next } = told.json as { jobs: Listed[]; next: string | null };
		printed(told, given, () =>
			jobs.length === 0
				? none(endpoint, query.size > 0, next)
				: table(["ID", "STATUS", "SUBMITTED", "IN QUEUE MS", "RUN MS", "WORKER"], jobs.map(row)),
		);
		tellNext(next, given);
		return 0;
	},
};

function none(endpoint: string, filtered: boolean, next: string | null): string {
	if (next !== null) return "No job on this page fits.\n";
	return filtered
		? "No job fits.\n"
		: `Endpoint '${endpoint}' has no job. Submit one: sluice jobs submit ${endpoint} --input '{"prompt": "hi"}'\n`;
}

function row({
	id,
	status,
	submittedAt,
	delayTime,
	executionTime,
	workerId,
}: Listed): (string | number | undefined)[] {
	return [id, status, short(submittedAt), delayTime, executionTime, workerId];
}

const get: Action = {
	name: "get",
	args: ["ENDPOINT", "JOB"],
	summary: "one job with its timeline and why it waits",
	flags: JSON_FLAG,
	async run(given) {
		const [endpoint = "", job = ""] = given.args;
		const told = await callService(process.env).ask(
			"GET",
			path`/v1/endpoints/${endpoint}/jobs/${job}`,
		);
		return printed(told, given, () => jobText(told));
	},
};

function move(name: "cancel" | "retry", summary: string): Action {
	return {
		name,
		summary,
		args: ["ENDPOINT", "JOB"],
		flags: JSON_FLAG,
		async run(given) {
			const [endpoint = "", job = ""] = given.args;
			const told = await callService(process.env).ask("POST", path`/v2/${endpoint}/${name}/${job}`);
			return printed(told, given, () => `Job ${job} is ${(told.json as Listed).status}.\n`);
		},
	};
}

const purge: Action = {
	name: "purge",
	args: ["ENDPOINT"],
	summary: "remove every waiting job",
	flags: { ...YES_FLAG, ...JSON_FLAG },
	async run(given) {
		const [endpoint = ""] = given.args;
		await confirm(`Remove every waiting job of endpoint '${endpoint}'?`, given);
		const told = await callService(process.env).ask("POST", path`/v2/${endpoint}/purge-queue`);
		return printed(
			told,
			given,
			() => `${(told.json as { removed: number }).removed} waiting jobs are removed.\n`,
		);
	},
};

export const jobs = noun({
	name: "jobs",
	summary: "submit, list, look at, cancel and retry jobs",
	actions: [
		list,
		get,
		submit,
		move("cancel", "cancel a job that waits or runs"),
		move("retry", "queue a FAILED or TIMED_OUT job again"),
		purge,
	],
});
