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

function payloadOf(n: number, size: number): string {
	const word = `${n.toString(36)}\u00e9\\"`;
	return word.repeat(Math.ceil(size / word.length)).slice(0, size);
}
