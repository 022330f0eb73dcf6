/**
 * Clients, workers and faults of `npm run torture` at a fixed rate for hours or days, with short
 * retention, while processes, files and latencies are measured.
 */
import { FINAL_STATES } from "../../src/kernel/core/jobs/job-states.ts";
import type { Retention } from "../torture/endpoints.ts";
import type { Op } from "../torture/history.ts";
import { random as randomOf } from "../torture/plan.ts";
import type { MeasuredSite } from "../torture/site.ts";
import { machineTime } from "../torture/time.ts";
import { torture, type Tortured, type TortureOptions } from "../torture/torture.ts";
import { LatencyWindow, percentiles, type Percentiles } from "./latency.ts";
import { processSample, storeProbe } from "./sample.ts";
import type { Sample } from "./series.ts";

/** Jobs expire within minutes; webhooks and retries of `others` take a minute. */
export const RETENTION: Retention = { bulk: 60_000, others: 180_000, records: 60_000 };

/** Jobs are read again so long after their end, ms: before they expire. */
const AUDIT_AFTER_MS = 20_000;

const ONE_LARGE_OF = 50;

/** Part of the requests whose connection is broken, and after how many ms at most. */
const [CUT, CUT_MS] = [1 / 2000, 50];

/** How long all clients submit as fast as they can to find the rate, ms; what is left out of it. */
const [CALIBRATION_MS, WARM_UP_MS] = [60_000, 15_000];

/** Part of that which is the rate then. */
const LOAD = 0.5;

/** Percentiles are those of so many samples. */
const WINDOW = 6;

/** In the first part of each of these cycles servers are killed. */
const KILLED_PART = 0.4;

export interface SoakOptions
	extends Pick<TortureOptions, "seed" | "ms" | "scale" | "names" | "shared" | "record" | "signal"> {
	site: MeasuredSite;
	/** Jobs per second; half of what is measured by default. */
	rate?: number;
	/** Mean time between two faults, ms; 0: none. */
	killMs: number;
	/** After the first part of each cycle the servers are spared, ms. */
	cycleMs: number;
	/** Between two samples, ms. */
	everyMs: number;
	sampled: (sample: Sample) => void;
}

export interface Soaked extends Tortured {
	/** Jobs per second: as set, and as submitted. */
	rate: number;
	submitted: number;
	/** Of all requests, ms. */
	submit: Percentiles;
	whole: Percentiles;
}

const { now, sleep } = machineTime;

export async function soak(o: SoakOptions): Promise<Soaked> {
	const { site, seed, cycleMs, killMs } = o;
	const began = now();
	const [submit, whole] = [new LatencyWindow(), new LatencyWindow()];
	let [jobs, faults, kills] = [0, 0, 0];
	const pacer = paced(o.rate ?? Infinity);

	function measure(op: Op): void {
		if (op.op === "fault") {
			faults += 1;
			if (op.what.includes("server")) kills += 1;
		}
		if (op.op !== "submit" || op.result !== "ok") return;
		jobs += 1;
		if (op.operation === "run") submit.add(op.to - op.from);
		else if (op.endpoint === "bulk" && isEnd(op.seen?.state)) whole.add(op.to - op.from);
	}

	const ended = new AbortController();
	async function calibrate(): Promise<void> {
		await sleep(WARM_UP_MS, ended.signal);
		const [from, before] = [now(), jobs];
		await sleep(CALIBRATION_MS - WARM_UP_MS, ended.signal);
		pacer.rate = ((jobs - before) / (now() - from)) * 1000 * LOAD;
	}

	async function samples(): Promise<void> {
		const probe = storeProbe(site.store);
		let [from, before] = [began, 0];
		for (let n = 1; ; n += 1) {
			await sleep(o.everyMs, ended.signal);
			// What happens when no more jobs are submitted is not measured.
			if (ended.signal.aborted || now() - began > o.ms) break;
			const store = await probe.sample();
			o.sampled({
				at: Math.round((now() - began) / 100) / 10,
				jobs: Number((((jobs - before) / (now() - from)) * 1000).toPrecision(3)),
				...(n % WINDOW === 0 ? { submit: submit.next(), whole: whole.next() } : {}),
				faults,
				kills,
				servers: site.pids().map((pid) => processSample(pid) ?? null),
				...(store ? { store } : {}),
				clients: processSample(process.pid)!,
			});
			[from, before] = [now(), jobs];
		}
		await probe.end();
	}

	const random = randomOf(seed + 2);
	const { fault, ...rest } = site;
	const measured = Promise.all([samples(), ...(o.rate === undefined ? [calibrate()] : [])]);
	const result = await torture({
		...o,
		site: killMs > 0 && fault ? { ...rest, fault } : rest,
		retention: RETENTION,
		auditAfterMs: AUDIT_AFTER_MS,
		oneLargeOf: ONE_LARGE_OF,
		pauses: [killMs / 2, killMs * 1.5],
		sparesServers: () => now() - began < o.ms && ((now() - began) % cycleMs) / cycleMs >= KILLED_PART,
		cuts: () => (random() < CUT ? random() * CUT_MS : undefined),
		pace: (signal) => pacer.next(signal),
		record(op) {
			measure(op);
			o.record?.(op);
		},
	}).finally(() => ended.abort());
	await measured;
	return {
		...result,
		rate: pacer.rate,
		submitted: jobs / (Math.min(o.ms, now() - began) / 1000),
		submit: percentiles(submit.all),
		whole: percentiles(whole.all),
	};
}

function isEnd(state: string | undefined): boolean {
	return (FINAL_STATES as readonly (string | undefined)[]).includes(state);
}

/** Turns at a rate per second, in the order of the calls; missed ones are not made up for. */
export function paced(rate: number): { rate: number; next(signal: AbortSignal): Promise<void> } {
	let turn = 0;
	return {
		rate,
		async next(signal) {
			const present = now();
			turn = Math.max(present, turn + 1000 / this.rate);
			await sleep(turn - present, signal);
		},
	};
}
