/** `sluice gpus`: GPUs that workers are assigned to, and who has them (D36). */
import type { Gpu } from "./routes.ts";
import type { CommandGroup } from "../../cli/framework/command.ts";
import { formatOf } from "../../cli/framework/common-flags.ts";
import { type Columns, cellsOf, serviceAction } from "../../cli/framework/service-action.ts";
import { lineWidth, shortTime, table } from "../../cli/framework/table.ts";

const NONE =
	"No GPUs are configured. Set gpus in sluice.yaml, or SLUICE_GPUS, to the number of GPUs of this machine, or add\n" +
	"hosts; see docs/guides/gpus.md.\n";

/** A GPU and one of its holders, where it has any. */
interface Row {
	gpu: Gpu;
	isFirst: boolean;
	holder: Gpu["holders"][number] | undefined;
}

const COLUMNS: Columns<Row> = {
	HOST: ({ gpu }) => gpu.host,
	GPU: ({ gpu }) => gpu.id,
	MODEL: ({ gpu }) => gpu.model,
	MEMORY: ({ gpu: { memoryGb, memoryUsedGb }, isFirst }) =>
		memoryGb === undefined || !isFirst
			? undefined
			: `${memoryUsedGb === undefined ? "" : `${memoryUsedGb} of `}${memoryGb} GB`,
	STATE: ({ gpu: { busyPercent }, holder, isFirst }) => {
		const state = holder?.state ?? "free";
		return busyPercent === undefined || !isFirst ? state : `${state}, ${busyPercent} %`;
	},
	SINCE: ({ holder }) => shortTime(holder?.since),
	PART: ({ holder: { memoryGb, usedGb } = {} }) =>
		memoryGb === undefined ? undefined : `${usedGb === undefined ? "" : `${usedGb} of `}${memoryGb} GB`,
	WORKER: ({ holder }) => holder?.worker,
};

const list = serviceAction<{ gpus: Gpu[] }>({
	name: "list",
	args: [],
	summary: "list the GPUs of this machine and of Docker hosts, and the workers that have them",
	request: "GET /v1/gpus",
	text({ gpus }, { flags }) {
		if (gpus.length === 0) return NONE;
		const rows = gpus.flatMap((gpu) =>
			(gpu.holders.length === 0 ? [undefined] : gpu.holders).map((holder, at) => ({ gpu, isFirst: at === 0, holder })),
		);
		const width = formatOf(flags) === "wide" ? Infinity : lineWidth();
		return table(
			Object.keys(COLUMNS),
			rows.map((row) => cellsOf(COLUMNS, row)),
			{ width },
		);
	},
});

export const gpus: CommandGroup = {
	name: "gpus",
	summary: "list GPUs and the workers that have them",
	actions: [list],
};
