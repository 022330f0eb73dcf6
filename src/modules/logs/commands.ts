/** `sluice logs` and `sluice workers logs` (D36). */
import { CliError } from "../../cli/client/errors.ts";
import { path, queryOf, type ServiceClient } from "../../cli/client/service-client.ts";
import { fetchWorkers } from "../../cli/commands/jobs/workers.ts";
import type { Action, ActionInput, Command } from "../../cli/framework/command.ts";
import { parseDuration } from "../../kernel/core/durations.ts";
import { afterReturns, printableLines } from "../../kernel/lib/terminal-text.ts";
import { systemClock } from "../../kernel/system/clock.ts";
import type { FoundLine, LogLine } from "./routes.ts";

const workerLogs: Action = {
	name: "logs",
	args: ["ENDPOINT", "[WORKER]"],
	summary: "print the log of a launched worker, or the last lines of all, including workers that have exited",
	flags: {
		search: { value: "TEXT", summary: "only lines with this text, in all kept logs; newest last" },
		level: { value: "LEVEL", summary: "only lines of debug, info, warn or error and above" },
		since: { value: "TIME", summary: "only lines written since then, such as 15m ago or 2026-01-31T12:00:00Z" },
		until: { value: "TIME", summary: "only lines written until then" },
		timestamps: { short: "t", summary: "begin each line with its time" },
		whole: { summary: "start with the first line that is kept" },
		follow: { short: "f", summary: "print new lines until the worker exits; without WORKER, of all until Ctrl-C" },
		tail: { value: "N", summary: "start with the last N lines, 0 to 10000 (default 100)" },
		job: { value: "JOB", summary: "only lines that the worker's SDK marks with this job" },
		json: { summary: "print each line as JSON, with all its fields" },
	},
	examples: [
		"sluice workers logs hello hello-dcc00034eac5 -f",
		"sluice workers logs hello --search 'out of memory' -t",
	],
	async run({ args: [endpoint = "", worker], flags, service }) {
		const isSearch = FILTERS.some((name) => flags[name] !== undefined);
		if (!isSearch && worker !== undefined) {
			const query = queryOf(flags, ["follow", "tail", "whole", "job"]);
			const url = path`/v1/endpoints/${endpoint}/workers/${worker}/logs?${query}`;
			for await (const line of service.streamLines(url))
				process.stdout.write(`${flags["json"] ? line : logText(JSON.parse(line) as LogLine, flags)}\n`);
			return 0;
		}
		if (flags["follow"] !== undefined) {
			if (isSearch) throw new CliError("--follow cannot be combined with --search, --level, --since or --until.");
			return await followAll(service, endpoint, flags);
		}
		const found: FoundLine[] = [];
		const range = rangeOf(flags);
		const wanted = Number(flags["tail"] ?? 100);
		let next: string | undefined;
		// A page reads a part of the logs, in which there may be few lines or none.
		do {
			const limit = found.length === 0 ? flags["tail"] : String(wanted - found.length);
			const filter = { ...flags, ...range, worker, limit, cursor: next };
			const query = queryOf(filter, [...FILTERS, "job", "worker", "limit", "cursor"]);
			const { json } = await service.request("GET", path`/v1/endpoints/${endpoint}/logs?${query}`);
			const page = json as { lines: FoundLine[]; next?: string };
			found.push(...page.lines);
			next = page.next;
		} while (next !== undefined && found.length < wanted);
		for (const line of found.toReversed()) {
			const prefix = worker === undefined ? `${line.worker}  ` : "";
			process.stdout.write(`${flags["json"] ? JSON.stringify(line) : prefix + logText(line, flags)}\n`);
		}
		return 0;
	},
};

const FILTERS = ["search", "level", "since", "until"];

/** Spans of time as moments; the service checks the rest. */
function rangeOf(flags: ActionInput["flags"]): ActionInput["flags"] {
	const moment = (text: string | undefined): string | undefined => {
		const ms = parseDuration(text ?? "");
		return ms === undefined ? text : String(Math.max(0, systemClock.wall() - ms));
	};
	return { since: moment(flags["since"]), until: moment(flags["until"]) };
}

const NEW_WORKERS_MS = 2000;
const LATER = ["follow", "whole", "job"];

/**
 * Follows every worker of the endpoint, those that start later too, until Ctrl-C. One that crashes between two looks
 * is found among those that have ended; what had ended before the command is left out.
 */
async function followAll(service: ServiceClient, endpoint: string, flags: ActionInput["flags"]): Promise<never> {
	const known = new Set<string>();
	const failed = Promise.withResolvers<never>();
	const follow = async (id: string, query: URLSearchParams): Promise<void> => {
		for await (const line of service.streamLines(path`/v1/endpoints/${endpoint}/workers/${id}/logs?${query}`))
			process.stdout.write(flags["json"] ? `${line}\n` : `${id}  ${logText(JSON.parse(line) as LogLine, flags)}\n`);
	};
	for (let isFirst = true; ; isFirst = false) {
		const { workers: present, ended = [] } = await fetchWorkers(service, endpoint, true);
		if (isFirst) for (const { id } of ended) known.add(id);
		// Of a worker that has started since, every line is new.
		const query = isFirst ? queryOf(flags, ["follow", "tail", "job"]) : queryOf({ ...flags, whole: "true" }, LATER);
		for (const { id, launcher } of [...ended.toReversed(), ...present]) {
			if (launcher === "external" || known.has(id)) continue;
			known.add(id);
			follow(id, query).catch((error: unknown) => {
				// Its log has been removed meanwhile; those of the others have not.
				if (!(error instanceof CliError && error.status === 404)) failed.reject(error);
			});
		}
		await Promise.race([systemClock.sleep(NEW_WORKERS_MS), failed.promise]);
	}
}

/** `sluice logs`: `sluice workers logs`, and the log of the service. */
const logs: Action = {
	...workerLogs,
	args: ["[ENDPOINT]", "[WORKER]"],
	flags: {
		...workerLogs.flags,
		service: {
			summary: "the log of the service instead, about ENDPOINT if one is named: the last 1,000 lines at most",
		},
	},
	examples: ["sluice logs hello -f", "sluice logs hello --search 'out of memory' -t", "sluice logs --service -f"],
	async run(input) {
		const { args, flags, service } = input;
		if (flags["service"] === undefined) {
			if (args[0] === undefined) throw new CliError("Name an ENDPOINT, or pass --service for the log of the service.");
			return await workerLogs.run(input);
		}
		if (args.length > 1 || flags["whole"] !== undefined || flags["timestamps"] !== undefined)
			throw new CliError("--whole, --timestamps and WORKER cannot be used with --service.");
		const query = queryOf({ ...flags, ...rangeOf(flags), endpoint: args[0] }, [
			...FILTERS,
			...["job", "endpoint", "follow", "tail"],
		]);
		for await (const line of service.streamLines(path`/v1/logs?${query}`))
			process.stdout.write(`${flags["json"] ? line : printableLines((JSON.parse(line) as LogLine).text)}\n`);
		return 0;
	},
};

const TIME_LENGTH = 24;

/** A terminal gets the worker's colours, but no other controls. */
function logText({ text, time = "" }: LogLine, flags: ActionInput["flags"]): string {
	const shown = printableLines(afterReturns(text), { colours: process.stdout.isTTY });
	return flags["timestamps"] === undefined ? shown : `${time.padEnd(TIME_LENGTH)} ${shown}`;
}

export const LOG_COMMANDS: readonly Command[] = [
	logs,
	{ name: "workers", summary: "read logs of workers", actions: [workerLogs] },
];
