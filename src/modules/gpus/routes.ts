/** GPUs that Sluice assigns to workers, for operators (D27, D44). */
import { GPU_HOLDER_STATES, GPU_USES } from "../../kernel/core/workers/gpus.ts";
import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import { flag } from "../../kernel/api/definition/params.ts";
import { route } from "../../kernel/api/definition/route.ts";
import { COUNT, list, listIn, MOMENT, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";

const GB = { type: "number", minimum: 0, description: "In 10^9 bytes." } as const;

const HOLDER = object({
	state: { enum: GPU_HOLDER_STATES, description: "What the worker does; other: a container of another service." },
	"worker?": TEXT,
	"endpoint?": TEXT,
	"memoryGb?": { ...GB, description: "Its part of the GPU in 10^9 bytes; absent: the whole GPU." },
	"usedGb?": {
		...GB,
		description: "What its processes use of the GPU, at most 2 s old, in 10^9 bytes. Only of this machine.",
	},
	"since?": { ...MOMENT, description: "Begin of the state, of a worker that starts, is idle or busy." },
});

const SPAN = object({
	worker: TEXT,
	endpoint: TEXT,
	state: { enum: GPU_USES, description: "busy also in pauses of less than 10 s; idle also while it is stopped." },
	from: MOMENT,
	to: MOMENT,
});
export type GpuSpan = Static<typeof SPAN>;

export const GPU = object({
	host: { ...TEXT, description: `Host of the configuration; ${LOCAL}: the machine of this server.` },
	id: { ...TEXT, description: "Number on the machine of this server, else the UUID. A MIG device counts as a GPU." },
	"uuid?": { ...TEXT, description: "UUID of a GPU of this machine, if nvidia-smi reports it." },
	"model?": { ...TEXT, description: "Absent if nvidia-smi or rocm-smi does not report it." },
	"memoryGb?": GB,
	"cuda?": { ...TEXT, description: "Newest CUDA version that its driver runs." },
	"memoryUsedGb?": {
		...GB,
		description: "Memory that all its processes use, in 10^9 bytes, at most 2 s old. Only for GPUs of this machine.",
	},
	"busyPercent?": {
		...COUNT,
		description: "Percentage of the time in which it computed. Only for GPUs of this machine.",
	},
	"freeGb?": {
		...GB,
		description: "Memory left for further workers with gpuMemoryGb, in 10^9 bytes; 0 if one worker has the whole GPU.",
	},
	holders: {
		...list(HOLDER),
		description: "The worker that has it, or the workers that have parts of it; empty: it is free.",
	},
	"history?": {
		...list(SPAN),
		description:
			"With history=true: who had it in the last hour, to the second, since the server that answers has an endpoint " +
			"with GPUs; the newest 1,000.",
	},
});
export type Gpu = Static<typeof GPU>;

export const HISTORY = flag("history", "Also who had each GPU in the last hour.");

export const LIST_GPUS = route("listGpus", "GET /v1/gpus", "admin", {
	summary: "Lists the GPUs of this machine and of Docker hosts, and the workers that have them.",
	query: [HISTORY],
	answer: {
		description: "The GPUs as this server sees them. Kubernetes and Slurm choose their own, which are not listed.",
		schema: listIn("gpus", GPU),
	},
});

export const GPU_ROUTES = [LIST_GPUS] as const;
