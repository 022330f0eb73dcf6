/**
 * The machine of a schedule, where it has one: its GPUs, what the workers of each endpoint need of them, and the
 * versions of settings that an operator releases meanwhile.
 */
import type { Priority } from "../../src/kernel/core/workers/priority.ts";
import { type EndpointName, random } from "../torture/plan.ts";
import type { Participants } from "./schedule.ts";

export interface Machine {
	gpus: number;
	/** Of each, in 10^9 bytes. */
	memoryGb: number;
}

/** What the workers of an endpoint need, and what they do besides jobs. */
export interface Needs {
	/** 0: its workers use none. */
	gpus: number;
	/** Part of each; absent: whole GPUs. */
	memoryGb?: number;
	priority: Priority;
	workersMin: number;
	/** Idle ones sleep instead of being stopped. */
	sleeps: boolean;
	/** Idle time after which a worker sleeps or stops, s. */
	idleTimeout: number;
	/** Each runs an input before its first job. */
	warmsUp: boolean;
	maxSurge: number;
	/** One worker of a new version is compared first. */
	canary: boolean;
}

/** An operator releases a version of an endpoint's settings. */
export interface Release {
	/** After the beginning, ms. */
	at: number;
	endpoint: EndpointName;
	version: number;
	/** All workers of the version crash at their start. */
	isBroken: boolean;
}

/** Part of the schedules that have a machine; of its endpoints those whose workers use GPUs. */
const [WITH_MACHINE, WITH_GPUS] = [0.6, 0.8];

const MEMORY_GB = 24;

/** Parts of a GPU: two or three fit on one, by its reserve. */
const PARTS_GB: readonly number[] = [7, 10, 16];

/** Of endpoints without a minimum, which a minimum of their own priority or a higher one could starve. */
const PRIORITIES: readonly Priority[] = ["normal", "normal", "normal", "high"];

/** Releases of a schedule at most, and the longest time before each, ms. */
const [MOST_RELEASES, RELEASE_GAP_MS] = [4, 15_000];

/** Crashes before a worker of a version was healthy that bring the one before back. */
export const FAIL_AFTER = 2;

export function machineOf(seed: number): Machine | undefined {
	const next = random(seed ^ 0x6b79);
	return next() < WITH_MACHINE ? { gpus: 1 + Math.floor(next() * 2), memoryGb: MEMORY_GB } : undefined;
}

/** The endpoint with launched workers, also if others called it, and their needs; `isFirst` of the schedule. */
export function onMachine(
	machine: Machine,
	each: Participants,
	{ next, isFirst }: { next: () => number; isFirst: boolean },
): Participants {
	const isServed = each.endpoint !== "lapse";
	const launched = 1 + Math.floor(next() * 3);
	const usesGpus = next() < WITH_GPUS;
	const gpus = usesGpus ? 1 + Math.floor(next() * next() * machine.gpus) : 0;
	const part = PARTS_GB[Math.floor(next() * PARTS_GB.length)]!;
	const isPart = next() < 0.5;
	const hasMinimum = next() < 0.3 && (isFirst || gpus === 0);
	const needs: Needs = {
		gpus,
		...(usesGpus && isPart && { memoryGb: part }),
		priority: hasMinimum ? "low" : PRIORITIES[Math.floor(next() * PRIORITIES.length)]!,
		workersMin: hasMinimum ? 1 : 0,
		sleeps: next() < 0.6 && usesGpus,
		idleTimeout: next() < 0.5 ? 1 : 20,
		warmsUp: next() < 0.3,
		maxSurge: next() < 0.7 ? 1 : 0,
		canary: next() < 0.25 && launched > 1,
	};
	return isServed ? { ...each, workers: 0, launched, needs } : each;
}

/** After a broken version follows one that works, because nothing undoes the first one. */
export function releasesOf(participants: readonly Participants[], next: () => number): Release[] {
	const endpoints = participants.flatMap(({ endpoint, needs }) => (needs ? [endpoint] : []));
	const releases: Release[] = [];
	if (endpoints.length === 0) return releases;
	let at = 0;
	for (let left = Math.floor(next() * (MOST_RELEASES + 1)); left > 0; left -= 1) {
		const endpoint = endpoints[Math.floor(next() * endpoints.length)]!;
		const isBroken = next() < 0.3;
		at += next() * RELEASE_GAP_MS;
		const version = releases.length + 2;
		releases.push({ at, endpoint, version, isBroken });
		if (!isBroken) continue;
		at += next() * RELEASE_GAP_MS;
		releases.push({ at, endpoint, version: version + 1, isBroken: false });
	}
	return releases;
}

/** Settings of an endpoint's workers, as a version of them. */
export function settingsOf(needs: Needs, { version, isBroken }: Pick<Release, "version" | "isBroken">): object {
	const { gpus, memoryGb, priority, workersMin, sleeps, idleTimeout, warmsUp, maxSurge, canary } = needs;
	return {
		env: { VERSION: String(version), ...(isBroken && { BROKEN: "1" }) },
		priority,
		workersMin,
		idleTimeout,
		initTimeoutMs: 10_000,
		stopGraceMs: 1000,
		...(gpus > 0 && { gpusPerWorker: gpus }),
		...(memoryGb !== undefined && { gpuMemoryGb: memoryGb, gpuMemoryEnforce: true }),
		...(sleeps && { sleep: { command: ["sleep"], wakeCommand: ["wake"], timeoutMs: 2000, maxMs: 30_000 } }),
		...(warmsUp && { warmup: { input: { warm: true } } }),
		release: {
			maxSurge,
			failAfter: FAIL_AFTER,
			...(canary && { canary: { percent: 20, minJobs: 10, maxMs: 60_000 } }),
		},
	};
}

/** Part of the jobs before which a client of a machine pauses, and how long, ms: workers become idle meanwhile. */
const [PAUSED, PAUSE_MS] = [0.3, 8000];

export function pauseOf(next: () => number): number {
	return next() < PAUSED ? next() * PAUSE_MS : 0;
}
