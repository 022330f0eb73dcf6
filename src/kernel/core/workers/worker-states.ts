/**
 * Worker states and transitions, a table as that of jobs (`../jobs/job-states.ts`). A worker is in a stage, which its
 * own calls and commands change, and on a course, which the service decides. They change independently: a worker that
 * is to be stopped may still become ready or fall asleep. Only `engine/workers/worker-transitions.ts` applies them.
 */

/**
 * - `starting`: it was launched and has not called yet, or runs its warm-up
 * - `ready`: it takes jobs
 * - `falling_asleep`, `waking`: the command that puts it to sleep or wakes it runs; it has its GPUs and gets no jobs
 * - `asleep`: its GPUs are free for others
 */
export const WORKER_STAGES = ["starting", "ready", "falling_asleep", "asleep", "waking"] as const;
export type WorkerStage = (typeof WORKER_STAGES)[number];

/**
 * - `staying`: it gets jobs, if its stage allows
 * - `retiring`: it gets no more jobs and is stopped once it holds none, unless that is withdrawn
 * - `closed`: it gets no more jobs, and nothing can withdraw that
 * - `stopping`: its platform was asked to end it
 * - `ended`: it was removed from the registry
 */
export const WORKER_COURSES = ["staying", "retiring", "closed", "stopping", "ended"] as const;
export type WorkerCourse = (typeof WORKER_COURSES)[number];

/**
 * - `ready`: it is idle from now on
 * - `since`: its stage begins now
 * - `polls`: its open polls end, with 204
 */
export type WorkerEffect = "ready" | "since" | "polls";

interface Rule {
	on: string;
	/** Absent: allowed in every stage, which it does not change. */
	stage?: { from: readonly WorkerStage[]; to: WorkerStage };
	/** Absent: allowed on every course but `ended`; it does not change the course. */
	course?: { from: readonly WorkerCourse[]; to: WorkerCourse };
	effects: readonly WorkerEffect[];
	source: string;
}

export const WORKER_RULES = [
	{ on: "call", stage: { from: ["starting"], to: "ready" }, effects: ["ready"], source: "D28" },
	{
		on: "begin_sleep",
		stage: { from: ["ready"], to: "falling_asleep" },
		course: { from: ["staying"], to: "staying" },
		effects: ["since", "polls"],
		source: "D28",
	},
	{ on: "stay_awake", stage: { from: ["falling_asleep"], to: "ready" }, effects: [], source: "D28" },
	{ on: "complete_sleep", stage: { from: ["falling_asleep"], to: "asleep" }, effects: ["since"], source: "D28" },
	// Its stored handle says so when a server takes it over.
	{
		on: "find_asleep",
		stage: { from: ["starting", "ready", "asleep"], to: "asleep" },
		effects: ["since"],
		source: "D28",
	},
	{
		on: "begin_wake",
		stage: { from: ["asleep"], to: "waking" },
		course: { from: ["staying"], to: "staying" },
		effects: ["since"],
		source: "D28",
	},
	{ on: "complete_wake", stage: { from: ["waking"], to: "ready" }, effects: ["ready"], source: "D28" },
	{ on: "retire", course: { from: ["staying", "retiring"], to: "retiring" }, effects: ["polls"], source: "D28" },
	{ on: "withdraw_retire", course: { from: ["staying", "retiring"], to: "staying" }, effects: [], source: "D28" },
	{ on: "close", course: { from: ["staying", "retiring", "closed"], to: "closed" }, effects: ["polls"], source: "D34" },
	{
		on: "stop",
		course: { from: ["staying", "retiring", "closed", "stopping"], to: "stopping" },
		effects: ["polls"],
		source: "D34",
	},
	// Its platform did not answer, and it was stopped only because no job needed it.
	{ on: "withdraw_stop", course: { from: ["stopping"], to: "staying" }, effects: [], source: "D27" },
	{
		on: "end",
		course: { from: ["staying", "retiring", "closed", "stopping"], to: "ended" },
		effects: [],
		source: "D34",
	},
] as const satisfies readonly Rule[];

export type WorkerEvent = (typeof WORKER_RULES)[number]["on"];

export interface WorkerState {
	stage: WorkerStage;
	course: WorkerCourse;
}

const BY_EVENT = Object.fromEntries(WORKER_RULES.map((rule): [WorkerEvent, Rule] => [rule.on, rule])) as Readonly<
	Record<WorkerEvent, Rule>
>;

export function workerEffects(on: WorkerEvent): readonly WorkerEffect[] {
	return BY_EVENT[on].effects;
}

/** Undefined if the event may not happen in this state. */
export function nextWorkerState({ stage, course }: WorkerState, on: WorkerEvent): WorkerState | undefined {
	const rule = BY_EVENT[on];
	const isAllowed = rule.course ? rule.course.from.includes(course) : course !== "ended";
	if (!isAllowed || (rule.stage && !rule.stage.from.includes(stage))) return undefined;
	return { stage: rule.stage?.to ?? stage, course: rule.course?.to ?? course };
}
