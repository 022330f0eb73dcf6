/** `sluice hosts`: machines on which the launcher docker starts workers (D36, D44). */
import type { Host } from "./routes.ts";
import type { CommandGroup } from "../../cli/framework/command.ts";
import { listAction, serviceAction } from "../../cli/framework/service-action.ts";
import { shortTime } from "../../cli/framework/table.ts";

const list = listAction<Host>({
	name: "list",
	args: [],
	summary: "list the hosts of the configuration",
	request: "GET /v1/hosts",
	member: "hosts",
	empty: "No hosts are configured. Add them to hosts in sluice.yaml; see docs/guides/docker-hosts.md.\n",
	columns: {
		NAME: "name",
		STATE: ({ state, drained }) => (drained ? `${state}, drained` : state),
		SINCE: ({ since }) => shortTime(since),
		GPUS: ({ gpus }) => (gpus.length === 0 ? "-" : `${gpus.filter(({ used }) => used).length} of ${gpus.length} used`),
		WORKERS: ({ workers, workersMax }) =>
			workersMax === undefined ? workers.length : `${workers.length} of ${workersMax}`,
		"DISK FREE": ({ freeDisk }) => (freeDisk === undefined ? undefined : `${(freeDisk / 1e9).toFixed(1)} GB`),
		FAULT: "fault",
	},
});

const drain = serviceAction({
	name: "drain",
	args: ["NAME"],
	summary: "start no more workers on a host; those it has finish their jobs first",
	examples: ["sluice hosts drain rig1"],
	request: "POST /v1/hosts/{NAME}/drain",
	text: (_, { args: [host] }) => `Host ${host} is drained: its workers end after their jobs.\n`,
});

const resume = serviceAction({
	name: "resume",
	args: ["NAME"],
	summary: "start workers on a host again",
	examples: ["sluice hosts resume rig1"],
	request: "POST /v1/hosts/{NAME}/resume",
	text: (_, { args: [host] }) => `Host ${host} is resumed.\n`,
});

export const hosts: CommandGroup = {
	name: "hosts",
	summary: "list, drain and resume machines with Docker",
	actions: [list, drain, resume],
};
