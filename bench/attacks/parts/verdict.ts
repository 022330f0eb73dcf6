/** What an attack found beside what it may find, and what another client saw meanwhile. */
import { type Attacked, sleep } from "./attacked.ts";

interface Bound {
	found: number;
	atLeast?: number;
	atMost?: number;
}

/** Each figure with its bound. `held`: all are within it. One that could not be taken is not. */
export function judged(bounds: Record<string, Bound>): { held: boolean; bounds: Record<string, Bound> } {
	const isWithin = ({ found, atLeast = -Infinity, atMost = Infinity }: Bound): boolean =>
		found >= atLeast && found <= atMost;
	return { held: Object.values(bounds).every(isWithin), bounds };
}

export interface Seen {
	calls: number;
	failed: number;
	p50: number;
	p99: number;
	max: number;
}

/** Times in ms. Without any there is nothing within a bound. */
export function times(ms: readonly number[], failed = 0): Seen {
	const sorted = ms.toSorted((a, b) => a - b);
	const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
	return { calls: sorted.length, failed, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Submissions to the endpoint `noop` and probes of a load balancer, in turns, until `isOver`. */
export async function otherClient({ call }: Attacked, isOver: () => boolean): Promise<Record<"run" | "healthz", Seen>> {
	const found = { run: [] as number[], healthz: [] as number[] };
	const failed = { run: 0, healthz: 0 };
	const ask = async (name: "run" | "healthz", answer: ReturnType<Attacked["call"]>): Promise<void> => {
		const { status, ms } = await answer;
		found[name].push(ms);
		if (status !== 200) failed[name] += 1;
	};
	while (!isOver()) {
		await ask("run", call("/v2/noop/run", { body: '{"input":{}}' }));
		await ask("healthz", call("/healthz"));
		await sleep(10);
	}
	return { run: times(found.run, failed.run), healthz: times(found.healthz, failed.healthz) };
}

/** True once this time has passed. */
export function after(ms: number): () => boolean {
	const until = performance.now() + ms;
	return () => performance.now() > until;
}

/** Asks again until the answer is something; undefined: it was nothing for `longestMs`. */
export async function eventually<T>(
	ask: () => Promise<T | undefined | false> | T | undefined | false,
	longestMs = 15_000,
): Promise<T | undefined> {
	const isOver = after(longestMs);
	for (;;) {
		const found = await ask();
		if (found || isOver()) return found || undefined;
		await sleep(50);
	}
}
