/** `sluice workers`: who works for which endpoint (D36). */
import { JSON_FLAG, printed } from "./common-flags.ts";
import { noun } from "./command.ts";
import type { Action } from "./command.ts";
import { callService, path, queryOf } from "./service-client.ts";
import type { ServiceAnswer } from "./service-client.ts";
import { plain, short, table } from "./table.ts";

interface Worker {
	id: string;
	state: string;
	launcher: string;
	seenAt: string;
	jobs: string[];
}

const list: Action = {
	name: "list",
	args: ["[ENDPOINT]"],
	summary: "workers of an endpoint, or of all",
	flags: JSON_FLAG,
	async run(given) {
		const [endpoint] = given.args;
		const { ask } = callService(process.env);
		const ids =
			endpoint === undefined
				? (
						(await ask("GET", "/v1/endpoints")).json as { endpoints: { id: string }[] }
					).endpoints.map(({ id }) => id)
				: [endpoint];
		const found: [string, Worker[]][] = [];
		for (const id of ids)
			found.push([
				id,
				((await ask("GET", path`/v1/endpoints/${id}/workers`)).json as { workers: Worker[] })
					.workers,
			]);
		const rows = found.flatMap(([id, workers]) => workers.map((worker) => row(id, worker)));
		return printed(asJson(found), given, () =>
			rows.length === 0
				? none(endpoint)
				: table(["ENDPOINT", "WORKER", "STATE", "LAUNCHER", "LAST CALL", "JOBS"], rows),
		);
	},
};

/** One list over all endpoints, each worker with its endpoint. */
function asJson(found: readonly [string, Worker[]][]): ServiceAnswer {
	const json = {
		workers: found.flatMap(([endpoint, workers]) =>
			workers.map((worker) => ({ endpoint, ...worker })),
		),
	};
	return { json, text: JSON.stringify(json) };
}

function row(
	endpoint: string,
	{ id, state, launcher, seenAt, jobs }: Worker,
): (string | undefined)[] {
	return [endpoint, id, state, launcher, short(seenAt), jobs.join(",")];
}

function none(endpoint: string | undefined): string {
	const id = endpoint ?? "ENDPOINT";
	return `No worker is there. Launched ones start when jobs wait; others attach with the variables of: sluice worker-env ${id}\n`;
}

const logs: Action = {
	name: "logs",
	args: ["ENDPOINT", "WORKER"],
	summary: "what a launched worker wrote, also after its end",
	flags: {
		follow: { short: "f", summary: "go on with what it writes, until it has ended" },
		tail: { value: "N", summary: "begin with so many of the last lines, 0 to 10000 (default 100)" },
		job: { value: "JOB", summary: "only lines that the worker's SDK ascribes to this job" },
		json: { summary: "print each line as the service tells it, as JSON" },
	},
	async run({ args, flags }) {
		const [endpoint = "", worker = ""] = args;
		const query = queryOf(flags, ["follow", "tail", "job"]);
		for await (const line of callService(process.env).lines(
			path`/v1/endpoints/${endpoint}/workers/${worker}/logs?${query}`,
		)) {
			process.stdout.write(
				`${flags["json"] ? line : shown((JSON.parse(line) as { text: string }).text)}\n`,
			);
		}
		return 0;
	},
};

/** What a worker wrote; on a terminal without what could steer it. */
function shown(text: string): string {
	return process.stdout.isTTY
		? text.replaceAll("\t", "    ").split("\n").map(plain).join("\n")
		: text;
}

export const workers = noun({
	name: "workers",
	summary: "list workers and what they do, read what they write",
	actions: [list, logs],
});
