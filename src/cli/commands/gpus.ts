/** `sluice gpus`: GPUs that workers are assigned to, and who has them (D36). */
import type { Gpu } from "../../api/gpus.ts";
import type { CommandGroup } from "../framework/command.ts";
import { listAction } from "../framework/service-action.ts";
import { shortTime } from "../framework/table.ts";

const list = listAction<Gpu>({
	name: "list",
	args: [],
	summary: "list the GPUs of this machine and of Docker hosts, and who has them",
	request: "GET /v1/gpus",
	member: "gpus",
	empty:
		"No GPUs are given to workers. Set gpus in sluice.yaml or SLUICE_GPUS to their number on this machine, or add\n" +
		"hosts; see docs/guides/gpus.md.\n",
	columns: {
		HOST: "host",
		GPU: "id",
		MODEL: "model",
		MEMORY: ({ memoryGb, memoryUsedGb }) =>
			memoryGb === undefined ? undefined : `${memoryUsedGb === undefined ? "" : `${memoryUsedGb} of `}${memoryGb} GB`,
		STATE: ({ state, busyPercent }) => (busyPercent === undefined ? state : `${state}, ${busyPercent} %`),
		SINCE: ({ since }) => shortTime(since),
		WORKER: "worker",
	},
});

export const gpus: CommandGroup = {
	name: "gpus",
	summary: "list GPUs and the workers that have them",
	actions: [list],
};
