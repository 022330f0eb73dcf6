/** Workers, for operators (D28, D39). */
import { flag } from "./definition/params.ts";
import { NO_BODY, emptyAnswer, route } from "./definition/route.ts";
import { WORKER_REASON_CODES } from "../core/workers/worker-reason.ts";
import { COUNT, list, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

const LAST_LINE = {
	...TEXT,
	description:
		"What a worker that ended by a fault printed, for an admin key: of the last 20 lines the last one that names " +
		"an error, else the last; at most 300 characters.",
} as const;

/** Why a worker does not run yet or will be ended, or why an endpoint lacks workers (D29). */
export const WORKER_REASON = object({
	code: { enum: WORKER_REASON_CODES },
	message: TEXT,
	"progress?": { ...COUNT, description: "How far it is, percent, such as the pull of an image." },
	"retryAt?": { ...MOMENT, description: "When the next worker is started after a crash." },
	"lastLine?": LAST_LINE,
});
export type WorkerReason = Static<typeof WORKER_REASON>;

/** Members are absent where unknown (D48). */
const WORKER_USAGE = {
	type: "object",
	properties: {
		cores: {
			type: "number",
			description: "Processor cores that it used on average since the last such call; absent at the first.",
		},
		memory: { ...COUNT, description: "Memory that all its processes use, bytes." },
		memoryMax: { ...COUNT, description: "Maximum memory that it may use, bytes." },
		processes: COUNT,
		image: { ...TEXT, description: "The image of its container." },
		gpus: list(
			object({
				id: { ...TEXT, description: "Its number on the machine, or its UUID." },
				model: TEXT,
				memory: { ...COUNT, description: "Size of its memory, bytes." },
				"memoryUsed?": { ...COUNT, description: "Memory that all programs use on it, bytes." },
				"busy?": { ...COUNT, description: "Percentage of the time in which it computed." },
			}),
		),
	},
} as const;

const ROOM = object(
	{ since: MOMENT, until: MOMENT },
	{ description: "The time in which other workers made room for it: from the decision to its start." },
);

export const WORKER = object({
	id: TEXT,
	state: {
		enum: ["initializing", "idle", "running", "asleep", "unhealthy", "stopping"],
		description: "asleep: workers of others may have its GPUs. A worker that is being woken is initializing.",
	},
	launcher: {
		...TEXT,
		description: "The launcher that started it; external: it was started by something other than this service.",
	},
	createdAt: MOMENT,
	"readyAt?": { ...MOMENT, description: "Time of its first call, or the end of its warm-up; absent while it starts." },
	"room?": ROOM,
	seenAt: { ...MOMENT, description: "Time of its last call." },
	jobs: { ...list(TEXT), description: "Ids of the jobs it holds." },
	"gpus?": {
		...list(COUNT),
		description: "Numbers of the machine's GPUs assigned to it; while it sleeps, those that it gets again.",
	},
	"gpuMemoryGb?": {
		type: "number",
		description: "Memory of each of these GPUs that it may use, in 10^9 bytes; absent: all of it.",
	},
	"release?": {
		...COUNT,
		description: "Version of the endpoint that it runs; absent: it was not launched, or its version is not kept.",
	},
	"version?": { ...TEXT, description: "Version of its SDK, known after its first ping." },
	"reason?": {
		...WORKER_REASON,
		description: "Why it does not run yet or will be ended, as its platform says; or that it runs its warm-up.",
	},
	"warning?": {
		...TEXT,
		description: "A sentence: two processes use its id, or it sends no pings.",
	},
	"host?": { ...TEXT, description: "The machine on which it runs, where that is known." },
	"usage?": {
		...WORKER_USAGE,
		description: "With usage=true: what it uses of its machine, if the server that answers launched it.",
	},
});
export type Worker = Static<typeof WORKER>;

/** A launched worker that has ended (D47). */
export const ENDED_WORKER = object({
	id: TEXT,
	launcher: { ...TEXT, description: "The launcher that started it." },
	"host?": { ...TEXT, description: "The machine on which it ran, where that is known." },
	createdAt: MOMENT,
	"readyAt?": {
		...MOMENT,
		description: "Time of its first call, or the end of its warm-up; absent if it was never ready.",
	},
	"room?": ROOM,
	endedAt: MOMENT,
	"exitCode?": { type: "integer" },
	"signal?": { ...TEXT, description: "The signal that killed it, such as SIGKILL." },
	"code?": {
		enum: WORKER_REASON_CODES,
		description:
			"Why it ended: a crash, such as out_of_memory, or an act of its platform; absent if it was stopped or " +
			"exited on its own.",
	},
	message: { ...TEXT, description: "A sentence on how it ended." },
	"lastLine?": LAST_LINE,
	"lastOutput?": {
		...TEXT,
		description:
			"The last 20 lines of its output, for an admin key; values of the endpoint's variables are " +
			"replaced by their names.",
	},
});
export type EndedWorker = Static<typeof ENDED_WORKER>;

export const USAGE = flag("usage", "Adds what each launched worker uses of its machine.");
export const ENDED = flag("ended", "Adds the last 50 workers that have ended within 7 days.");

export const LIST_WORKERS = route("listWorkers", "GET /v1/endpoints/:endpoint/workers", "read", {
	summary: "Workers of the endpoint and the jobs they hold.",
	query: [ENDED, USAGE],
	answer: {
		description: "The workers, oldest first; with ended=true also the ended ones, newest first.",
		schema: object({ workers: list(WORKER), "ended?": list(ENDED_WORKER) }),
	},
});

export const START_WORKERS = route("startWorkers", "POST /v1/endpoints/:endpoint/workers/start", "admin", {
	summary: "Ends the pause of starts that follows crashes of workers: one is started now, if it is needed.",
	answer: emptyAnswer("Starts are not paused any more."),
	body: NO_BODY,
	errors: ["workers_external", "not_ready"],
});

export const STOP_WORKER = route("stopWorker", "POST /v1/endpoints/:endpoint/workers/:worker/stop", "admin", {
	summary: "Stops a launched worker: it gets no more jobs and exits once it holds none.",
	answer: emptyAnswer("It is stopping."),
	body: NO_BODY,
	errors: ["worker_gone", "worker_not_launched"],
});

export const WORKER_ADMIN_ROUTES = [LIST_WORKERS, START_WORKERS, STOP_WORKER] as const;
