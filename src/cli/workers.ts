/** `sluice workers`: workers and their logs (D36). */
import type { Endpoint } from "../api/endpoints.ts";
import type { EndedWorker, FoundLine, LogLine, Worker, WorkerReason } from "../api/workers.ts";
import { CliError } from "./errors.ts";
import type { Action, ActionInput, CommandGroup } from "./command.ts";
import { JSON_FLAG, YES_FLAG, confirm, printAnswer } from "./common-flags.ts";
import { path, queryOf, type ServiceClient } from "./service-client.ts";
import { shortTime, table } from "./table.ts";
import { explained } from "./lacking-workers.ts";
import { systemClock } from "../clock.ts";
import { afterReturns, printable, printableLines } from "../core/terminal-text.ts";

type OfEndpoint<T> = T & { endpoint: string };

interface Workers {
	workers: OfEndpoint<Worker>[];
	ended?: OfEndpoint<EndedWorker>[];
	/** Why endpoints lack workers. */
	reasons: OfEndpoint<WorkerReason>[];
}

/** Characters of a time in ISO 8601. */
const TIME_LENGTH = 24;

const list: Action = {
	name: "list",
	args: ["[ENDPOINT]"],
	summary: "list the workers of one endpoint or of all",
	flags: {
		all: { short: "a", summary: "also those that have ended: the last 50 of each endpoint" },
		...JSON_FLAG,
	},
	examples: ["sluice workers list", "sluice workers list hello --all"],
	async run(input) {
		const [endpoint] = input.args;
		const json = await fetchWorkers(input.service, endpoint, input.flags["all"] !== undefined);
		const { workers, ended, reasons } = json;
		return printAnswer({ json, text: JSON.stringify(json) }, input, () => {
			const now = systemClock.wall();
			const rows = [
				...workers.map((worker) => row(worker, now)),
				...(ended ?? []).map((worker) => endedRow(worker, now)),
			];
			const lines = reasons
				.filter(({ message }) => !workers.some(({ reason }) => reason?.message === message))
				.map((reason) => `${reason.endpoint} lacks workers. ${printable(explained(reason, now))}\n`);
			if (rows.length > 0) lines.unshift(table(HEADINGS, rows));
			return lines.length > 0 ? lines.join("") : noWorkers(endpoint ?? "ENDPOINT");
		});
	},
};

const HEADINGS = ["ENDPOINT", "WORKER", "STATE", "LAUNCHER", "LAST CALL", "JOBS", "REASON"];

function noWorkers(endpoint: string): string {
	return `No workers. Launched workers start when jobs wait; to attach others: sluice worker-env ${endpoint}\n`;
}

async function fetchWorkers(
	{ request }: ServiceClient,
	endpoint: string | undefined,
	withEnded: boolean,
): Promise<Workers> {
	const all: Workers = { workers: [], ...(withEnded && { ended: [] }), reasons: [] };
	for (const { id, reason } of await endpointsOf({ request }, endpoint)) {
		if (reason) all.reasons.push({ endpoint: id, ...reason });
		const query = withEnded ? "?ended=true" : "";
		const { json } = await request("GET", `${path`/v1/endpoints/${id}/workers`}${query}`);
		const { workers, ended } = json as Workers;
		all.workers.push(...workers.map((worker) => ({ ...worker, endpoint: id })));
		all.ended?.push(...(ended ?? []).map((worker) => ({ ...worker, endpoint: id })));
	}
	return all;
}

async function endpointsOf({ request }: Pick<ServiceClient, "request">, id: string | undefined): Promise<Endpoint[]> {
	if (id !== undefined) return [(await request("GET", path`/v1/endpoints/${id}`)).json as Endpoint];
	return ((await request("GET", "/v1/endpoints")).json as { endpoints: Endpoint[] }).endpoints;
}

function row(worker: OfEndpoint<Worker>, now: number): (string | undefined)[] {
	const { endpoint, id, state, launcher, seenAt, jobs, reason } = worker;
	return [endpoint, id, state, launcher, shortTime(seenAt), jobs.join(","), reason && explained(reason, now)];
}

function endedRow(worker: OfEndpoint<EndedWorker>, now: number): (string | undefined)[] {
	const { endpoint, id, launcher, endedAt } = worker;
	return [endpoint, id, "ended", launcher, shortTime(endedAt), undefined, explained(worker, now)];
}

const start: Action = {
	name: "start",
	args: ["ENDPOINT"],
	summary: "start workers now where starts are paused after crashes",
	flags: JSON_FLAG,
	async run(input) {
		const [endpoint = ""] = input.args;
		const answer = await input.service.request("POST", path`/v1/endpoints/${endpoint}/workers/start`);
		return printAnswer(
			answer,
			input,
			() => `Starts are not paused. A worker of '${endpoint}' starts now if jobs wait for one.\n`,
		);
	},
};

const logs: Action = {
	name: "logs",
	args: ["ENDPOINT", "[WORKER]"],
	summary: "print the log of a launched worker, or the last lines of all, also after they have exited",
	flags: {
		search: { value: "TEXT", summary: "only lines with this text, of all that is kept; newest last" },
		timestamps: { short: "t", summary: "begin each line with its time" },
		whole: { summary: "start with the first line that is kept" },
		follow: { short: "f", summary: "print new lines until the worker exits" },
		tail: { value: "N", summary: "start with the last N lines, 0 to 10000 (default 100)" },
		job: { value: "JOB", summary: "only lines that the worker's SDK marks with this job" },
		json: { summary: "print each line as JSON, with all its fields" },
	},
	examples: [
		"sluice workers logs hello hello-dcc00034eac5 -f",
		"sluice workers logs hello --search 'out of memory' -t",
	],
	async run(input) {
		const { args, flags, service } = input;
		const [endpoint = "", worker] = args;
		if (flags["search"] !== undefined || worker === undefined) return await found(input, worker);
		const query = queryOf(flags, ["follow", "tail", "whole", "job"]);
		const url = path`/v1/endpoints/${endpoint}/workers/${worker}/logs?${query}`;
		for await (const line of service.streamLines(url)) {
			process.stdout.write(`${flags["json"] ? line : logText(JSON.parse(line) as LogLine, flags)}\n`);
		}
		return 0;
	},
};

/** Finds all workers of the endpoint, or of one. */
async function found(
	{ args: [endpoint = ""], flags, service }: ActionInput,
	worker: string | undefined,
): Promise<number> {
	if (flags["follow"] !== undefined)
		throw new CliError("--follow needs a WORKER, and no --search: sluice workers list prints them.");
	const query = queryOf({ ...flags, limit: flags["tail"] }, ["search", "job", "limit"]);
	if (worker !== undefined) query.set("worker", worker);
	const { json } = await service.request("GET", path`/v1/endpoints/${endpoint}/logs?${query}`);
	for (const line of (json as { lines: FoundLine[] }).lines.toReversed()) {
		const text = flags["json"]
			? JSON.stringify(line)
			: `${worker === undefined ? `${line.worker}  ` : ""}${logText(line, flags)}`;
		process.stdout.write(`${text}\n`);
	}
	return 0;
}

/** Colours of what the worker wrote only on a terminal, and nothing else that controls one. */
function logText({ text, time }: LogLine, flags: ActionInput["flags"]): string {
	const shown = printableLines(afterReturns(text), { colours: process.stdout.isTTY });
	if (flags["timestamps"] === undefined) return shown;
	return `${time ?? " ".repeat(TIME_LENGTH)} ${shown}`;
}

const stop: Action = {
	name: "stop",
	args: ["[ENDPOINT]", "[WORKER]"],
	summary: "stop a launched worker, or all, once its jobs have ended; it gets no more",
	flags: { all: { summary: "all launched workers of the endpoint, or of all endpoints" }, ...YES_FLAG, ...JSON_FLAG },
	examples: ["sluice workers stop hello hello-dcc00034eac5 --yes", "sluice workers stop --all"],
	async run(input) {
		const [endpoint, worker] = input.args;
		if (input.flags["all"] !== undefined && worker === undefined) return await stopAll(input, endpoint);
		if (endpoint === undefined || worker === undefined || input.flags["all"] !== undefined)
			throw new CliError("Name an ENDPOINT and a WORKER, as sluice workers list prints them, or pass --all.");
		await confirm(`Stop worker '${worker}' of endpoint '${endpoint}'?`, input);
		const answer = await input.service.request("POST", path`/v1/endpoints/${endpoint}/workers/${worker}/stop`);
		return printAnswer(
			answer,
			input,
			() => `Worker ${worker} gets no more jobs and stops once it has finished those it runs.\n`,
		);
	},
};

async function stopAll(input: ActionInput, endpoint: string | undefined): Promise<number> {
	const { service } = input;
	const of = endpoint === undefined ? "all endpoints" : `endpoint '${endpoint}'`;
	await confirm(`Stop all launched workers of ${of}?`, input);
	const { workers: all } = await fetchWorkers(service, endpoint, false);
	const launched = all.filter(({ launcher, state }) => launcher !== "external" && state !== "stopping");
	for (const each of launched)
		await service
			.request("POST", path`/v1/endpoints/${each.endpoint}/workers/${each.id}/stop`)
			.catch(async (error: unknown) => {
				// It may have ended meanwhile.
				const { workers: left } = await fetchWorkers(service, each.endpoint, false);
				if (left.some(({ id }) => id === each.id)) throw error;
			});
	const json = { stopped: launched.map(({ id }) => id) };
	return printAnswer(
		{ json, text: JSON.stringify(json) },
		input,
		() =>
			`${launched.length} workers get no more jobs and stop once they have finished those they run. ` +
			"Others start where jobs wait or workersMin asks for them.\n",
	);
}

export const workers: CommandGroup = {
	name: "workers",
	summary: "list, start and stop workers, and read their logs",
	actions: [list, start, stop, logs],
};
