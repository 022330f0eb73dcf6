/** `sluice workers`: workers (D36). Its action `logs` is one of the module that serves them. */
import type { Endpoint } from "../../../kernel/api/endpoints.ts";
import type { EndedWorker, Worker, WorkerReason } from "../../../kernel/api/workers.ts";
import { CliError } from "../../client/errors.ts";
import type { Action, ActionInput, CommandGroup } from "../../framework/command.ts";
import { formatOf, JSON_FLAG, OUTPUT_FLAGS, YES_FLAG, confirm, printAnswer } from "../../framework/common-flags.ts";
import { serviceAction } from "../../framework/service-action.ts";
import { path, type ServiceClient } from "../../client/service-client.ts";
import { type Cell, lineWidth, spanText, table } from "../../framework/table.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
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

export async function fetchWorkers({ request }: ServiceClient, endpoint?: string, withEnded = false): Promise<Workers> {
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
	const scope = endpoint === undefined ? "all endpoints" : `endpoint '${endpoint}'`;
	await confirm(`Stop all launched workers of ${scope}?`, input);
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
	actions: [list, start, stop],
};
