/** `sluice jobs cancel` and `retry`: jobs by id, or all that fit a filter (D36, D39). */
import type { Bulk } from "../../../kernel/api/job-records.ts";
import type { Action, ActionInput } from "../../framework/command.ts";
import { JSON_FLAG, YES_FLAG, confirm } from "../../framework/common-flags.ts";
import { CliError } from "../../client/errors.ts";
import { path } from "../../client/service-client.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { progressBar } from "../../framework/progress-bar.ts";
import { stateStyled } from "../../framework/style.ts";
import { wholeId } from "./short-id.ts";
import { counted } from "../../framework/table.ts";

type Operation = "cancel" | "retry";

export const JOB_FILTERS = {
	status: { value: "STATES", summary: "only these states, comma-separated, such as FAILED,TIMED_OUT" },
	worker: { value: "WORKER", summary: "only jobs whose current or last attempt is on this worker" },
	from: { value: "TIME", summary: "only jobs submitted at or after this time, such as 2026-01-31T12:00:00Z" },
	to: { value: "TIME", summary: "only jobs submitted before this time" },
	search: { value: "TEXT", summary: "only jobs with this text in their id, worker, error or input" },
} as const;

const DONE: Readonly<Record<Operation, string>> = { cancel: "Cancelled", retry: "Queued again" };

const MAX_COUNTED = 10_000;

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
			const { args, flags } = input;
			const filters = [...Object.keys(JOB_FILTERS), "all"].filter((each) => flags[each] !== undefined);
			if (args.length > 1 && filters.length > 0)
				throw new CliError(`Pass either jobs or a filter: --${filters[0]} cannot be combined with ids.`);
			if (args.length > 1) return await eachJob(name, input);
			if (filters.length > 0) return await byFilter(name, input);
			throw new CliError(
				`Pass the id of a job, a filter such as --status ${name === "cancel" ? "IN_QUEUE" : "FAILED"}, or --all.`,
			);
		},
	};
}

async function eachJob(
	name: Operation,
	{ args: [endpoint = "", ...ids], flags, service }: ActionInput,
): Promise<number> {
	for (const given of ids as string[]) {
		const id = await wholeId(service, endpoint, given);
		const { text, json } = await service.request("POST", path`/v2/${endpoint}/${name}/${id}`);
		const { status } = json as { status: string };
		process.stdout.write(flags["json"] ? `${text}\n` : `Job ${id} is ${stateStyled(status)}.\n`);
	}
	return 0;
}

/** Whether the filter is the whole queue, which a purge empties in one step. */
function isQueue(flags: ActionInput["flags"]): boolean {
	return flags["status"] === "IN_QUEUE" && Object.keys(JOB_FILTERS).every((each) => each === "status" || !flags[each]);
}

async function byFilter(name: Operation, input: ActionInput): Promise<number> {
	const { flags, service } = input;
	const [endpoint = ""] = input.args;
	const { status, worker, from, to, search } = flags;
	const filter = { status: status ? status.split(",") : status, worker, from, to, search };
	const print = (json: object, text: string): number => {
		process.stdout.write(`${flags["json"] ? JSON.stringify(json) : text}\n`);
		return 0;
	};

	async function* pages(dryRun?: true): AsyncGenerator<Bulk> {
		for (let cursor: string | null | undefined; cursor !== null; ) {
			const body = { filter, dryRun, cursor };
			const page = (await service.request("POST", path`/v1/endpoints/${endpoint}/jobs/${name}`, body)).json as Bulk;
			yield page;
			cursor = page.next;
		}
	}

	const found = { matched: 0, more: false };
	for await (const page of pages(true)) {
		found.matched += page.matched;
		found.more = page.next !== null;
		if (found.matched >= MAX_COUNTED) break;
	}
	if (found.matched === 0) return print({ ...found, done: 0 }, "No matching jobs.");
	const jobs = found.more ? `${found.matched} or more jobs` : counted(found.matched, "job");
	if (flags["dry-run"]) return print({ ...found, done: 0 }, `${jobs} would be changed.`);
	if (name === "cancel" && isQueue(flags))
		process.stderr.write(`Faster for all of them: sluice jobs purge ${endpoint}\n`);
	await confirm(`${name === "cancel" ? "Cancel" : "Retry"} ${jobs} of endpoint '${endpoint}'?`, input);
	let [matched, done] = [0, 0];
	const bar = progressBar(systemClock.now);
	for await (const page of pages()) {
		matched += page.matched;
		done += page.done;
		const share = found.more ? undefined : Math.min(1, matched / found.matched);
		bar.show({ share, count: done, text: `${DONE[name]}: ${counted(done, "job")}` });
	}
	bar.clear();
	return print({ matched, done }, `${DONE[name]}: ${counted(done, "job")}.`);
}
