/** What happens in a simulation, as far as it is decided beforehand: a function of the seed. */
import type { Endpoint } from "../../src/kernel/core/endpoints/endpoint.ts";
import { readEndpoint } from "../../src/kernel/launchers/endpoint-settings.ts";
import type { EndpointTerms } from "../torture/history.ts";
import { type EndpointName, planOf, random } from "../torture/plan.ts";
import { type Machine, machineOf, type Needs, onMachine, type Release, releasesOf, settingsOf } from "./machine.ts";

/**
 * - `crash`: of the server, at one of its next actions
 * - `crash-twice`: again while it starts
 * - `pause`, `suspend`: of its process, of its machine
 * - `step`: of the time of day
 * - `loss`, `partition`: messages are lost and connections break, some or all
 * - `slow`, `full`, `moved`: of the database's disk
 * - `client`: one ends
 */
export const FAULTS = [
	"crash",
	"crash-twice",
	"pause",
	"suspend",
	"step",
	"loss",
	"partition",
	"slow",
	"full",
	"moved",
	"client",
] as const;
export type FaultKind = (typeof FAULTS)[number];

export interface Fault {
	/** After the beginning, ms. */
	at: number;
	kind: FaultKind;
	ms: number;
	/** From 0 to below 1. */
	chance: number;
}

export interface Participants {
	endpoint: EndpointName;
	clients: number;
	/** External ones; 0 where a launcher starts them. */
	workers: number;
	concurrency: number;
	crashes: number;
	/** They send no pings and ask for no stops. */
	silent?: true;
	/** Most that a launcher starts. */
	launched: number;
	/** Of results, ms. */
	retentionMs: number;
	/** Where the schedule has a machine. */
	needs?: Needs;
}

export interface Schedule {
	seed: number;
	/** Numbers of submissions, by endpoint in their order. */
	jobs: readonly { endpoint: EndpointName; n: number }[];
	faults: readonly Fault[];
	participants: readonly Participants[];
	/** Absent: workers use no GPUs, and no version is released. */
	machine?: Machine;
	releases: readonly Release[];
}

const NAMES: readonly EndpointName[] = ["bulk", "mixed", "stream", "lapse", "queue", "purge"];

/** Jobs of a schedule, and faults, at most. */
const [JOBS, MOST_FAULTS] = [36, 6];

/** Longest duration of each fault, ms; the lateness of what has no answer is below 5 s. */
const LONGEST: Record<FaultKind, number> = {
	crash: 9000,
	"crash-twice": 2000,
	pause: 4500,
	suspend: 60_000,
	step: 3_600_000,
	loss: 4000,
	partition: 4000,
	slow: 4000,
	full: 3000,
	moved: 2000,
	client: 0,
};

/** Longest pause between the end of a fault and the next one, ms. */
const GAP_MS = 4000;

/** The payloads of others are in files, which a simulation does not have. */
const SMALL = 1000;

export function scheduleOf(seed: number): Schedule {
	const next = random(Math.imul(seed, 0x2545f491) ^ 0x51);
	const below = (most: number): number => Math.floor(next() * most);
	const names = NAMES.filter(() => next() < 0.35);
	if (names.length === 0) names.push(NAMES[below(NAMES.length)]!);
	const machine = machineOf(seed);
	const needs = random(seed ^ 0x5d13);
	const participants = names.map((endpoint, index) => {
		const each = participantsOf(endpoint, next);
		return machine ? onMachine(machine, each, { next: needs, isFirst: index === 0 }) : each;
	});
	const plain = random(seed ^ 0x91a1);
	if (plain() < 0.3) {
		names.push("plain");
		participants.push({ ...PLAIN, concurrency: 1 + Math.floor(plain() * 3) });
	}
	const jobs: Schedule["jobs"][number][] = [];
	for (let count = 4 + below(JOBS - 4), n = 1; jobs.length < count; n += 1) {
		const endpoint = names[below(names.length)]!;
		if ((planOf(seed, endpoint, n).input.payload?.length ?? 0) < SMALL) jobs.push({ endpoint, n });
	}
	const faults: Fault[] = [];
	let at = 0;
	for (let left = below(MOST_FAULTS + 1); left > 0; left -= 1) {
		const kind = FAULTS[below(FAULTS.length)]!;
		at += next() * GAP_MS;
		const ms = next() * LONGEST[kind];
		faults.push({ at, kind, ms, chance: next() });
		if (kind !== "step") at += ms;
	}
	return { seed, jobs, faults, participants, ...(machine && { machine }), releases: releasesOf(participants, needs) };
}

/** Of results: some expire during a schedule, others not even after a step at each fault while no server runs. */
const [SHORT_MS, LONG_MS] = [20_000, 86_400_000];

function participantsOf(endpoint: EndpointName, next: () => number): Participants {
	const isServed = endpoint !== "lapse";
	const launched = isServed && next() < 0.4 ? 1 + Math.floor(next() * 3) : 0;
	return {
		endpoint,
		clients: 1 + Math.floor(next() * (endpoint === "queue" ? 8 : 3)),
		workers: isServed && launched === 0 ? 1 + Math.floor(next() * 2) : 0,
		concurrency: 1 + Math.floor(next() * 6),
		crashes: next() < 0.3 ? 0.1 : 0,
		launched,
		retentionMs: endpoint === "bulk" && next() < 0.5 ? SHORT_MS : LONG_MS,
	};
}

/** One worker without pings, so that no other takes what it has lost. */
const PLAIN: Omit<Participants, "concurrency"> = {
	endpoint: "plain",
	clients: 3,
	workers: 1,
	silent: true,
	crashes: 0,
	launched: 0,
	retentionMs: LONG_MS,
};

const LEASE_MS = 5000;
const QUEUE_LIMIT = 3;

const NO_RATES = { per10s: "off", concurrent: "off" };

/** The settings of an endpoint in a version of them, and what the checker knows of it. */
export function endpointOf(
	{ endpoint: id, launched, retentionMs: kept, needs }: Participants,
	version: Pick<Release, "version" | "isBroken"> = { version: 1, isBroken: false },
): { settings: Endpoint; terms: EndpointTerms } {
	const managed = { launcher: { type: "process", command: ["worker"] }, workersMax: launched };
	const read = readEndpoint(id, {
		...(launched > 0 ? managed : { launcher: { type: "external" } }),
		idleTimeout: 1,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		leaseMs: LEASE_MS,
		limits: id === "queue" ? { queue: QUEUE_LIMIT, run: NO_RATES, runsync: NO_RATES, status: NO_RATES } : "off",
		retention: { run: kept, runsync: kept, records: 0 },
		...(needs && settingsOf(needs, version)),
	});
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	// GPUs are counted, so that a version may have workers besides those.
	const surge = needs && needs.gpus > 0 ? needs.maxSurge : 0;
	return {
		settings: read.endpoint,
		terms: {
			op: "endpoint",
			id,
			leaseMs: LEASE_MS,
			retentionMs: { run: kept, runsync: kept },
			...(id === "queue" ? { queue: { limit: QUEUE_LIMIT, slack: 0 } } : {}),
			...(launched > 0 ? { workersMax: launched + surge } : {}),
		},
	};
}
