/** What each submission is to do: a function of the seed and its number alone. */

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

/**
 * What the worker does with a job.
 * - `echo`: reports at once
 * - `fail`: fails at its first run, completes at its second
 * - `hang`: runs until it is stopped
 * - `twice`: reports twice, two results
 * - `late`: is not named in pings any more, and reports later, when another worker may have it
 * - `slow`: reports progress, and the result after a second
 * - `chunks`: streams
 */
export type Work = "echo" | "fail" | "hang" | "twice" | "late" | "slow" | "chunks";

export interface Input {
	n: number;
	work: Work;
	/** Of a stream. */
	chunks?: number;
	payload?: string;
	/** In so many of its first runs the worker returns the job (D54), at the end of what it does. */
	returns?: number;
	/** The last of these counts as a loss. */
	loss?: true;
}

/** How the worker returns the job in its `nth` run; undefined if it reports. */
export function returnOf({ returns = 0, loss }: Input, nth: number): { reason: string; loss: boolean } | undefined {
	return nth <= returns ? { reason: "not now", loss: loss === true && nth === returns } : undefined;
}

/** How a client uses its job. */
export interface Plan {
	input: Input;
	operation: "run" | "runsync";
	key: boolean;
	/** The same request twice at the same moment; with a key only. */
	together: boolean;
	webhook: boolean;
	timeoutMs?: number;
	ttlMs?: number;
	/** A number from 0 to below 1 for what comes later. */
	chance: number;
}

export type EndpointName = "bulk" | "mixed" | "stream" | "lapse" | "queue" | "purge" | "plain";

/** Bytes of a large payload, at least and at most. */
const LARGE = [100_000, 1_000_000] as const;
/** Of how many jobs of `bulk` one has such a payload, by default. */
const ONE_LARGE_OF = 400;

/** The shortest deadlines that the API takes (D15). */
const TIMEOUT_MS = 5001;
const TTL_MS = 10_000;

/** Part of the jobs of these kinds that are returned; of these, those whose last return is a loss. */
const [RETURNED, AS_LOSS] = [0.25, 0.5];
const RETURNING: readonly Work[] = ["twice", "slow", "echo", "chunks"];

const MIXED: readonly Work[] = ["fail", "fail", "hang", "twice", "late", "slow", "echo"];

export function planOf(seed: number, endpoint: EndpointName, n: number, oneLargeOf = ONE_LARGE_OF): Plan {
	const next = random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(n, 0x85ebca6b));
	const chance = next();
	const key = next() < 0.15;
	const plan: Plan = {
		input: { n, work: "echo" },
		operation: "run",
		key,
		together: key && next() < 0.3,
		webhook: false,
		chance,
	};
	if (endpoint === "bulk") {
		plan.operation = next() < 0.5 ? "runsync" : "run";
		if (next() * oneLargeOf < 1)
			plan.input.payload = payloadOf(n, LARGE[0] + Math.floor(next() * (LARGE[1] - LARGE[0])));
		else plan.input.payload = "x".repeat(Math.floor(next() * 60));
	} else if (endpoint === "mixed") {
		plan.input.work = MIXED[Math.floor(next() * MIXED.length)]!;
		plan.operation = plan.input.work !== "hang" && next() < 0.3 ? "runsync" : "run";
		plan.webhook = next() < 0.5;
		if (plan.input.work === "hang" && next() < 0.5) plan.timeoutMs = TIMEOUT_MS;
	} else if (endpoint === "stream") {
		plan.input.work = "chunks";
		plan.input.chunks = 2 + Math.floor(next() * 12);
	} else if (endpoint === "plain") plan.input.work = next() < 0.8 ? "late" : "fail";
	else if (endpoint === "lapse") plan.ttlMs = TTL_MS;
	// Numbers of its own: without returns the plan is the same.
	const other = random(Math.imul(seed, 0x27d4eb2f) ^ Math.imul(n, 0x165667b1));
	if (endpoint !== "bulk" && RETURNING.includes(plan.input.work) && other() < RETURNED) {
		plan.input.returns = 1 + Math.floor(other() * 2);
		if (other() < AS_LOSS) plan.input.loss = true;
	}
	return plan;
}

/** Requests of a batch, at least and at most; small ones are more. */
const LINES = [5, 200] as const;

/** Part of the batches whose file has a fault, of their requests that are returned, and of those that work so. */
const [FAULTY, LINES_RETURNED] = [0.1, 0.1];
const LINE_WORK: readonly (readonly [Work, number])[] = [
	["late", 0.004],
	["slow", 0.02],
	["fail", 0.1],
	["twice", 0.1],
	["chunks", 0.03],
];

/** Part of the batches with so many requests that answers of this size are written into several parts. */
const [HEAVY, HEAVY_LINES, HEAVY_BYTES] = [0.05, 150, 45_000];

/** Of how many requests of batches one has a large payload, and its bytes. */
const [ONE_LARGE_LINE_OF, LARGE_LINE] = [150, [60_000, 150_000]] as const;

export interface BatchPlan {
	inputs: Input[];
	/** Kind of a further line that is none, by number. */
	fault: number | undefined;
	/** A number from 0 to below 1 for what comes later. */
	chance: number;
}

/** `nextNumber` numbers its requests among all submissions. */
export function batchPlanOf(next: () => number, nextNumber: () => number): BatchPlan {
	const isHeavy = next() < HEAVY;
	const size = isHeavy ? HEAVY_LINES : LINES[0] + Math.floor(next() ** 2 * (LINES[1] - LINES[0] + 1));
	const inputs = Array.from({ length: size }, () => lineInput(next, nextNumber()));
	if (isHeavy) for (const input of inputs) if (input.work === "echo") input.payload ??= payloadOf(input.n, HEAVY_BYTES);
	return { inputs, fault: next() < FAULTY ? Math.floor(next() * 1000) : undefined, chance: next() };
}

function lineInput(next: () => number, n: number): Input {
	let chance = next();
	const [work] = LINE_WORK.find(([, part]) => (chance -= part) < 0) ?? ["echo"];
	const input: Input = { n, work };
	if (work === "chunks") input.chunks = 2 + Math.floor(next() * 3);
	if (work === "echo" && next() * ONE_LARGE_LINE_OF < 1)
		input.payload = payloadOf(n, LARGE_LINE[0] + Math.floor(next() * (LARGE_LINE[1] - LARGE_LINE[0])));
	if (RETURNING.includes(work) && next() < LINES_RETURNED) {
		input.returns = 1 + Math.floor(next() * 2);
		if (next() < AS_LOSS) input.loss = true;
	}
	return input;
}

function payloadOf(n: number, size: number): string {
	const word = `${n.toString(36)}\u00e9\\"`;
	return word.repeat(Math.ceil(size / word.length)).slice(0, size);
}
