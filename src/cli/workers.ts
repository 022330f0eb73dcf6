/** `sluice workers`: workers and their logs (D36). */
import type { Action, CommandGroup } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";
import { path, queryOf } from "./service-client.ts";
import type { ServiceClient } from "./service-client.ts";
import { shortTime, table } from "./table.ts";
import { reasonText } from "../core/workers/worker-reason.ts";
import { printableLines } from "../core/terminal-text.ts";

interface Worker {
	endpoint: string;
	id: string;
	state: string;
	launcher: string;
	seenAt: string;
	jobs: string[];
	reason?: { message: string; progress?: number };
}

const list: Action = {
	name: "list",
	args: ["[ENDPOINT]"],
	summary: "list the workers of one endpoint or of all",
	flags: JSON_FLAG,
	async run(input) {
		const [endpoint] = input.args;
		const workers = await fetchWorkers(input.service, endpoint);
		const json = { workers };
		return printAnswer({ json, text: JSON.stringify(json) }, input, () =>
			workers.length === 0
				? noWorkers(endpoint ?? "ENDPOINT")
				: table(
						["ENDPOINT", "WORKER", "STATE", "LAUNCHER", "LAST CALL", "JOBS", "REASON"],
						workers.map(row),
					),
		);
	},
};

function noWorkers(endpoint: string): string {
	return `No workers. Launched workers start when jobs wait; to attach others: sluice worker-env ${endpoint}\n`;
}

async function fetchWorkers(
	{ request }: ServiceClient,
	endpoint: string | undefined,
): Promise<Worker[]> {
	const ids = endpoint === undefined ? await endpointIds({ request }) : [endpoint];
	const all: Worker[] = [];
	for (const id of ids) {
		const { json } = await request("GET", path`/v1/endpoints/${id}/workers`);
		const { workers } = json as { workers: Omit<Worker, "endpoint">[] };
		all.push(...workers.map((worker) => ({ endpoint: id, ...worker })));
	}
	return all;
}

async function endpointIds({ request }: Pick<ServiceClient, "request">): Promise<string[]> {
	const { json } = await request("GET", "/v1/endpoints");
	return (json as { endpoints: { id: string }[] }).endpoints.map(({ id }) => id);
}

function row(worker: Worker): (string | undefined)[] {
	const { endpoint, id, state, launcher, seenAt, jobs, reason } = worker;
	return [
		endpoint,
		id,
		state,
		launcher,
		shortTime(seenAt),
		jobs.join(","),
		reason && reasonText(reason),
	];
}

const logs: Action = {
	name: "logs",
	args: ["ENDPOINT", "WORKER"],
	summary: "print the log of a launched worker, also after it has exited",
	flags: {
		follow: { short: "f", summary: "print new lines until the worker exits" },
		tail: { value: "N", summary: "start with the last N lines, 0 to 10000 (default 100)" },
		job: { value: "JOB", summary: "only lines that the worker's SDK marks with this job" },
		json: { summary: "print each line as JSON, with all its fields" },
	},
	async run({ args, flags, service }) {
		const [endpoint = "", worker = ""] = args;
		const query = queryOf(flags, ["follow", "tail", "job"]);
		const url = path`/v1/endpoints/${endpoint}/workers/${worker}/logs?${query}`;
		for await (const line of service.streamLines(url)) {
			const text = flags["json"] ? line : logText((JSON.parse(line) as { text: string }).text);
			process.stdout.write(`${text}\n`);
		}
		return 0;
	},
};

/** On a terminal only colours of what the worker wrote; unchanged into a file or a program. */
function logText(text: string): string {
	return process.stdout.isTTY ? printableLines(text, { colours: true }) : text;
}

export const workers: CommandGroup = {
	name: "workers",
	summary: "list workers and read their logs",
	actions: [list, logs],
};
