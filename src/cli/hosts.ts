/** `sluice hosts`: machines on which the launcher docker starts workers (D36, D44). */
import type { Host } from "../api/hosts.ts";
import type { Action, CommandGroup } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";
import { path } from "./service-client.ts";
import { shortTime, table } from "./table.ts";

const HEADINGS = ["NAME", "STATE", "SINCE", "GPUS", "WORKERS", "DISK FREE", "FAULT"];

const list: Action = {
	name: "list",
	args: [],
	summary: "list the hosts of the configuration",
	flags: JSON_FLAG,
	async run(input) {
		const answer = await input.service.request("GET", "/v1/hosts");
		const { hosts } = answer.json as { hosts: Host[] };
		return printAnswer(answer, input, () =>
			hosts.length === 0
				? "No hosts are configured. Add them to hosts in sluice.yaml; see docs/guides/docker-hosts.md.\n"
				: table(HEADINGS, hosts.map(row)),
		);
	},
};

function row(host: Host): (string | undefined)[] {
	const { name, state, since, fault, drained, gpus, workers, workersMax, freeDisk } = host;
	return [
		name,
		drained ? `${state}, drained` : state,
		since === undefined ? undefined : shortTime(since),
		gpus.length === 0 ? "-" : `${gpus.filter(({ used }) => used).length} of ${gpus.length} used`,
		workersMax === undefined ? String(workers.length) : `${workers.length} of ${workersMax}`,
		freeDisk === undefined ? undefined : `${(freeDisk / 1e9).toFixed(1)} GB`,
		fault,
	];
}

function change(name: "drain" | "resume", summary: string, done: (host: string) => string): Action {
	return {
		name,
		args: ["NAME"],
		summary,
		flags: JSON_FLAG,
		async run(input) {
			const [host = ""] = input.args;
			const answer = await input.service.request("POST", `${path`/v1/hosts/${host}`}/${name}`);
			return printAnswer(answer, input, () => `${done(host)}\n`);
		},
	};
}

export const hosts: CommandGroup = {
	name: "hosts",
	summary: "list, drain and resume machines with Docker",
	actions: [
		list,
		change(
			"drain",
			"start no more workers on a host; those it has finish their jobs first",
			(host) => `Host ${host} is drained: its workers end after their jobs.`,
		),
		change("resume", "start workers on a host again", (host) => `Host ${host} is resumed.`),
	],
};
