/** `sluice workers`: workers and their logs (D36). */
import type { Endpoint } from "../../../kernel/api/endpoints.ts";
import type { EndedWorker, FoundLine, LogLine, Worker, WorkerReason } from "../../../kernel/api/workers.ts";
import { CliError } from "../../client/errors.ts";
import type { Action, ActionInput, CommandGroup } from "../../framework/command.ts";
import { formatOf, JSON_FLAG, OUTPUT_FLAGS, YES_FLAG, confirm, printAnswer } from "../../framework/common-flags.ts";
import { serviceAction } from "../../framework/service-action.ts";
import { path, queryOf, type ServiceClient } from "../../client/service-client.ts";
import { type Cell, lineWidth, spanText, table } from "../../framework/table.ts";
import { parseDuration } from "../../../kernel/core/durations.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { afterReturns, printable, printableLines } from "../../../kernel/lib/terminal-text.ts";
import { reasonText } from "../../../kernel/core/workers/worker-reason.ts";

type OfEndpoint<T> = T & { endpoint: string };

interface Workers {
	workers: OfEndpoint<Worker>[];
	ended?: OfEndpoint<EndedWorker>[];
	reasons: OfEndpoint<WorkerReason>[];
}

const list: Action = {
	name: "list",
	args: ["[ENDPOINT]"],
	summary: "list the workers of one endpoint or of all",
	flags: {
		all: { short: "a", summary: "include the last 50 workers of each endpoint that have ended" },
		...OUTPUT_FLAGS,
	},
	examples: ["sluice workers list", "sluice workers list hello --all"],
	async run(input) {
		const [endpoint] = input.args;
		const json = await fetchWorkers(input.service, endpoint, input.flags["all"] !== undefined);
		return printAnswer({ json, text: JSON.stringify(json) }, input, () => workersText(json, input));
	},
};

const HEADINGS = ["ENDPOINT", "WORKER", "STATE", "LAUNCHER", "LAST CALL", "JOBS", "REASON"];

function workersText(
	{ workers: all, ended = [], reasons }: Workers,
	{ args: [endpoint = "ENDPOINT"], flags }: ActionInput,
) {
	const width = formatOf(flags) === "wide" ? Infinity : lineWidth();
	const now = systemClock.wall();
	const rows = [
		...all.map((worker): Cell[] => {
			const { id, state, launcher, seenAt, jobs, reason, warning } = worker;
			return [
				worker.endpoint,
				id,
				state,
				launcher,
				spanText(now - Date.parse(seenAt)),
				jobs.length,
				reason ? explained(reason, now) : warning,
			];
		}),
		...ended.map((worker): Cell[] => {
			const { id, launcher, endedAt } = worker;
			return [
				worker.endpoint,
				id,
				"ended",
				launcher,
				spanText(now - Date.parse(endedAt)),
				undefined,
				explained(worker, now),
			];
		}),
	];
	const lines = reasons
		.filter(({ message }) => !all.some(({ reason }) => reason?.message === message))
		.map((reason) => `${reason.endpoint} lacks workers. ${printable(explained(reason, now))}\n`);
	if (rows.length > 0) lines.unshift(table(HEADINGS, rows, { width }));
	if (lines.length > 0) return lines.join("");
	return `No workers. Launched workers start when jobs wait; to attach others: sluice worker-env ${endpoint}\n`;
}

async function fetchWorkers({ request }: ServiceClient, endpoint?: string, withEnded = false): Promise<Workers> {
	const endpoints =
		endpoint === undefined
			? ((await request("GET", "/v1/endpoints")).json as { endpoints: Endpoint[] }).endpoints
			: [(await request("GET", path`/v1/endpoints/${endpoint}`)).json as Endpoint];
	const all: Workers = { workers: [], ...(withEnded && { ended: [] }), reasons: [] };
	for (const { id, reason } of endpoints) {
		if (reason) all.reasons.push({ endpoint: id, ...reason });
		const { json } = await request("GET", `${path`/v1/endpoints/${id}/workers`}${withEnded ? "?ended=true" : ""}`);
		const { workers: present, ended = [] } = json as Workers;
		all.workers.push(...present.map((worker) => ({ ...worker, endpoint: id })));
		all.ended?.push(...ended.map((worker) => ({ ...worker, endpoint: id })));
	}
	return all;
}

/** One line about an endpoint that lacks workers. `now`: time of day, ms. */
export function explained({ retryAt, lastLine, ...reason }: Omit<WorkerReason, "code">, now: number): string {
	const seconds = retryAt === undefined ? 0 : Math.ceil((Date.parse(retryAt) - now) / 1000);
	const next = seconds > 0 ? ` Next start in ${seconds} s.` : "";
	return reasonText(reason) + next + (lastLine === undefined ? "" : ` It printed: ${lastLine}`);
}

const start = serviceAction({
	name: "start",
	args: ["ENDPOINT"],
	summary: "start workers now although starts are paused after crashes",
	examples: ["sluice workers start hello"],
	request: "POST /v1/endpoints/{ENDPOINT}/workers/start",
	text: (_, { args: [endpoint] }) =>
		`Starts are not paused. A worker of '${endpoint}' starts now if jobs wait for one.\n`,
});

const logs: Action = {
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
export const logsCommand: Action = {
	...logs,
	args: ["[ENDPOINT]", "[WORKER]"],
	flags: {
		...logs.flags,
		service: {
			summary: "the log of the service instead, about ENDPOINT if one is named: the last 1,000 lines at most",
		},
	},
	examples: ["sluice logs hello -f", "sluice logs hello --search 'out of memory' -t", "sluice logs --service -f"],
	async run(input) {
		const { args, flags, service } = input;
		if (flags["service"] === undefined) {
			if (args[0] === undefined) throw new CliError("Name an ENDPOINT, or pass --service for the log of the service.");
			return await logs.run(input);
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

const stop: Action = {
	name: "stop",
	args: ["[ENDPOINT]", "[WORKER]"],
	summary: "stop a launched worker, or all; they get no more jobs and first finish those they have",
	flags: { all: { summary: "all launched workers of the endpoint, or of all endpoints" }, ...YES_FLAG, ...JSON_FLAG },
	examples: ["sluice workers stop hello hello-dcc00034eac5 --yes", "sluice workers stop --all"],
	async run(input) {
		const [endpoint, worker] = input.args;
		if (input.flags["all"] !== undefined && worker === undefined) return await stopAll(input, endpoint);
		if (endpoint === undefined || worker === undefined || input.flags["all"] !== undefined)
			throw new CliError("Name an ENDPOINT and a WORKER, as sluice workers list prints them, or pass --all.");
		await confirm(`Stop worker '${worker}' of endpoint '${endpoint}'?`, input);
		const answer = await input.service.request("POST", path`/v1/endpoints/${endpoint}/workers/${worker}/stop`);
		const text = `Worker ${worker} gets no more jobs and stops once it has finished those it runs.\n`;
		return printAnswer(answer, input, () => text);
	},
};

async function stopAll(input: ActionInput, endpoint: string | undefined): Promise<number> {
	const { service } = input;
	const of = endpoint === undefined ? "all endpoints" : `endpoint '${endpoint}'`;
	await confirm(`Stop all launched workers of ${of}?`, input);
	const { workers: all } = await fetchWorkers(service, endpoint);
	const launched = all.filter(({ launcher, state }) => launcher !== "external" && state !== "stopping");
	for (const each of launched)
		await service
			.request("POST", path`/v1/endpoints/${each.endpoint}/workers/${each.id}/stop`)
			.catch(async (error: unknown) => {
				// It may have ended meanwhile.
				const { workers: left } = await fetchWorkers(service, each.endpoint);
				if (left.some(({ id }) => id === each.id)) throw error;
			});
	const json = { stopped: launched.map(({ id }) => id) };
	const text =
		`${launched.length} workers get no more jobs and stop once they have finished those they run. ` +
		"Others start if jobs wait or workersMin requires them.\n";
	return printAnswer({ json, text: JSON.stringify(json) }, input, () => text);
}

export const workers: CommandGroup = {
	name: "workers",
	summary: "list, start and stop workers, and read their logs",
	actions: [list, start, stop, logs],
};
