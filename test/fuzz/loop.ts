/**
 * Runs a target: generated cases, and changes of cases that reached new blocks of its sources
 * (decision 0034). The same seed gives the same cases.
 */
import fc from "fast-check";
import type { Coverage } from "./coverage.ts";
import { mutated, random, type Random, smaller } from "./mutate.ts";
import type { Case, Target } from "./target.ts";

/** Cases kept for changes, at most. */
const POOL = 300;

/** Time of the shrinker, ms. */
const SHRINK_MS = 60_000;

export interface Finding {
	target: string;
	seed: number;
	value: Case;
	error: string;
}

/** What is known of a target during a run. */
export interface Campaign {
	readonly target: Target;
	/** Cases that reached new blocks. */
	pool: Case[];
	readonly blocks: Set<string>;
	runs: number;
	ms: number;
	/** `runs` when the last new block was reached. */
	newest: number;
}

export function campaign(target: Target, corpus: readonly Case[]): Campaign {
	return { target, pool: [...corpus], blocks: new Set(), runs: 0, ms: 0, newest: 0 };
}

/** The sentence of a finding, or undefined. */
export async function failureOf(target: Target, value: Case): Promise<string | undefined> {
	const { check, slowMs = 1000 } = target;
	const before = process.threadCpuUsage().user;
	try {
		const checking = check(value);
		if (checking !== undefined) await checking;
		const ms = (process.threadCpuUsage().user - before) / 1000;
		return ms > slowMs ? `slow: ${Math.round(ms)} ms of CPU time` : undefined;
	} catch (error) {
		return error instanceof Error ? (error.stack ?? error.message) : String(error);
	}
}

/** One turn; ends at the first finding, which is shrunk, or at `until` (`performance.now()`). */
export async function turn(
	c: Campaign,
	q: { seed: number; until: number; coverage?: Coverage | undefined; runs?: number },
): Promise<Finding | undefined> {
	const { cases, batch = 50, turn: ofTurn = 3000, sources } = c.target;
	const { seed, until, coverage, runs = ofTurn } = q;
	const next = random(seed);
	const started = performance.now();
	const late = (): boolean => performance.now() > until;
	let finding: Finding | undefined;
	for (let done = 0; done < runs && !finding && !late(); done += batch) {
		const numRuns = Math.min(batch, runs - done);
		const generated: Case[] = fc.sample(cases, { seed: Math.floor(next() * 2 ** 31), numRuns });
		const tried: Case[] = [];
		for (const one of generated) {
			if (finding || late()) break;
			const value = next() < 0.5 ? one : changed(c, one, next);
			tried.push(value);
			c.runs += 1;
			const error = await failureOf(c.target, value);
			if (error !== undefined) finding = { target: c.target.name, seed, value, error };
		}
		if (coverage && !finding) await keep(c, tried, coverage.taken(sources), coverage);
	}
	c.ms += performance.now() - started;
	return finding && (await shrunk(c.target, finding));
}

function changed({ pool }: Campaign, generated: Case, next: Random): Case {
	const any = (): Case | undefined => pool[Math.floor(next() * pool.length)];
	let value = any() ?? generated;
	for (let edits = 1 + Math.floor(next() * 4); edits > 0; edits -= 1)
		value = mutated(value, next() < 0.5 ? generated : any(), next);
	return value;
}

/** Keeps the cases that reached new blocks; in a batch each is run again to find them. */
async function keep(c: Campaign, tried: readonly Case[], ran: ReadonlySet<string>, coverage: Coverage): Promise<void> {
	const fresh = new Set([...ran].filter((block) => !c.blocks.has(block)));
	if (fresh.size === 0) return;
	c.newest = c.runs;
	for (const block of fresh) c.blocks.add(block);
	for (const value of tried) {
		if (tried.length > 1) {
			await failureOf(c.target, value);
			const again = coverage.taken(c.target.sources);
			if (fresh.isDisjointFrom(again)) continue;
			for (const block of again) fresh.delete(block);
		}
		c.pool.push(value);
		if (fresh.size === 0) break;
	}
	c.pool = c.pool.slice(-POOL);
}

/** The smallest case found that fails in the same way. */
export async function shrunk(target: Target, finding: Finding): Promise<Finding> {
	let best = finding;
	const kind = kindOf(finding.error);
	await target.reset?.();
	const until = performance.now() + SHRINK_MS;
	search: for (;;) {
		for (const value of smaller(best.value)) {
			if (performance.now() > until) break search;
			const error = await failureOf(target, value);
			if (error !== undefined) await target.reset?.();
			if (error === undefined || kindOf(error) !== kind) continue;
			best = { ...best, value, error };
			continue search;
		}
		return best;
	}
	return best;
}

/** Without what differs between cases. */
function kindOf(error: string): string {
	return error.replaceAll(/[^a-z ]/gi, "").slice(0, 30);
}
