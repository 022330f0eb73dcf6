/** `sluice jobs` (D36). */
import type { JobSummary } from "../../../kernel/api/job-records.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { JOB_FILTERS, bulkAction } from "./bulk-jobs.ts";
import type { Action, ActionInput, CommandGroup } from "../../framework/command.ts";
import { formatOf, JSON_FLAG, OUTPUT_FLAGS, PAGE_FLAGS, printAnswer } from "../../framework/common-flags.ts";
import { CliError } from "../../client/errors.ts";
import { filesText, jobFiles, withFiles } from "./job-files.ts";
import { errorLine, jobText } from "./job-text.ts";
import { wholeId } from "./short-id.ts";
import { jobCalls, RefusedJob } from "../../submit/job-calls.ts";
import { progressBar } from "../../framework/progress-bar.ts";
import { stateStyled } from "../../framework/style.ts";
import { type Columns, listAction, serviceAction } from "../../framework/service-action.ts";
import { path, queryOf } from "../../client/service-client.ts";
import { showWait } from "../../submit/single-job.ts";
import { submit } from "../../submit/submit.ts";
import { lineWidth, spanText } from "../../framework/table.ts";

const FILTERS = { ...JOB_FILTERS, expired: { summary: "include jobs whose result has expired" } } as const;

/** A terminal gets the end of an id, which commands take too. */
const SHORT_ID = 12;

const COMMON: Columns<JobSummary> = {
	ID: "id",
	STATUS: "status",
	AGE: ({ submittedAt }) => spanText(systemClock.wall() - Date.parse(submittedAt)),
	WAIT: ({ delayTime }) => spanText(delayTime),
	RUN: ({ executionTime }) => (executionTime > 0 ? spanText(executionTime) : "-"),
};
const WORKER: Columns<JobSummary> = { WORKER: ({ workerId }) => workerId ?? "-" };
const ERROR: Columns<JobSummary> = { ERROR: ({ error }) => error && errorLine(error) };

function columnsOf(found: readonly JobSummary[], { flags }: ActionInput): Columns<JobSummary> {
	const isWide = formatOf(flags) === "wide";
	const last = found.some(({ error }) => error !== undefined) ? ERROR : WORKER;
	if (isWide) return { ...COMMON, SUBMITTED: "submittedAt", ...WORKER, ...ERROR };
	const isShort = process.stdout.isTTY && lineWidth() < 120;
	return { ...COMMON, ...(isShort && { ID: ({ id }: JobSummary) => id.slice(-SHORT_ID) }), ...last };
}

const list = listAction<JobSummary>({
	name: "list",
	args: ["ENDPOINT"],
	summary: "list jobs, last submitted first",
	flags: {
		...FILTERS,
		...PAGE_FLAGS,
	},
	examples: ["sluice jobs list hello --status FAILED,TIMED_OUT"],
	request: "GET /v1/endpoints/{ENDPOINT}/jobs",
	query: (flags) => queryOf(flags, [...Object.keys(FILTERS), ...Object.keys(PAGE_FLAGS)]),
	member: "jobs",
	columns: columnsOf,
	empty({ args: [endpoint] }, { query, next }) {
		if (next !== null) return "No matching jobs on this page.\n";
		if (query.size > 0) return "No matching jobs.\n";
		const example = `sluice jobs submit ${endpoint} --input '{"prompt": "hi"}'`;
		return `Endpoint '${endpoint}' has no jobs. Submit one: ${example}\n`;
	},
});

const get: Action = {
	name: "get",
	args: ["ENDPOINT", "JOB"],
	summary: "print a job with its timeline, its files and the reason why it waits; the end of its id is enough",
	flags: OUTPUT_FLAGS,
	examples: [
		"sluice jobs get hello 01a1fe89-4aef-7775-8192-266968f696d3",
		"sluice jobs get hello 68f696d3  # 6 characters or more of the end",
	],
	async run(input) {
		const [endpoint = "", given = ""] = input.args;
		const job = await wholeId(input.service, endpoint, given);
		const of = path`/v1/endpoints/${endpoint}/jobs/${job}`;
		const answer = await input.service.request("GET", of);
		const files = await jobFiles(input.service, of);
		const text = (): string => jobText(answer, endpoint, systemClock.wall()) + filesText(files);
		return printAnswer(withFiles(answer, files), input, text);
	},
};

const wait: Action = {
	name: "wait",
	args: ["ENDPOINT", "JOB..."],
	summary: "wait for the end of jobs; exit code 1 if one did not complete",
	flags: JSON_FLAG,
	examples: ["sluice jobs wait hello 68f696d3 && echo done"],
	async run({ args: [endpoint = "", ...given], flags, service }) {
		service.apiKey();
		const ids: string[] = [];
		for (const id of given as string[]) ids.push(await wholeId(service, endpoint, id));
		const calls = jobCalls({ connection: service.connection(), endpoint, clock: systemClock });
		const bar = progressBar(systemClock.now);
		const ended = ids.map(async (id) => {
			const { status, text } = await calls.ended(id, (reason) => showWait(bar, reason)).catch(refused);
			bar.clear();
			process.stdout.write(flags["json"] ? `${text}\n` : `${id}  ${stateStyled(status)}\n`);
			return status;
		});
		return (await Promise.all(ended)).every((status) => status === "COMPLETED") ? 0 : 1;
	},
};

function refused(error: unknown): never {
	throw error instanceof RefusedJob ? new CliError(error.message, 1) : error;
}

const purge = serviceAction<{ removed: number }>({
	name: "purge",
	args: ["ENDPOINT"],
	summary: "remove all queued jobs",
	examples: ["sluice jobs purge hello --yes"],
	question: ({ args: [endpoint] }) => `Remove all queued jobs of endpoint '${endpoint}'?`,
	request: "POST /v2/{ENDPOINT}/purge-queue",
	text: ({ removed }) => `Removed ${removed} queued jobs.\n`,
});

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
		wait,
		purge,
	],
};
