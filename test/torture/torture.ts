/**
 * Clients, workers and faults at a site, for a while; then everything settles and the history is
 * judged. A job is closed when it was read again after a fault that followed its end.
 */
import { KEY } from "../support/service.ts";
import { type Api, api as connect, type Cuts } from "./api.ts";
import { auditJob, readHealth, waitsFor } from "./audit.ts";
import { checker } from "./checker/checker.ts";
import type { Violation } from "./checker/job-history.ts";
import { type ClientOptions, useEndpoint } from "./clients.ts";
import type { Op } from "./history.ts";
import { type EndpointName, random as randomOf } from "./plan.ts";
import { receiver } from "./receiver.ts";
import type { Endpoints, Site } from "./site.ts";
import { machineTime as time } from "./time.ts";
import { type Tracker, tracker as track } from "./tracker.ts";
import { work } from "./worker.ts";

const LEASE_MS = 5000;
const QUEUE_LIMIT = 60;
/** How long results are kept, and records after them, ms. */
export interface Retention {
	bulk: number;
	others: number;
	records: number;
}

/** Jobs of `bulk` are many; webhooks of others take longer. */
const RETENTION: Retention = { bulk: 180_000, others: 600_000, records: 0 };
/** Submissions in flight to servers that share a store. */
export const QUEUE_SLACK = 8;

interface Part {
	clients: number;
	workers: number;
	concurrency: number;
	/** Part of the takes after which a worker crashes. */
	crashes: number;
	/** Its workers send no pings and ask for no stops. */
	silent?: true;
}

const PARTS: Record<EndpointName, Part> = {
	bulk: { clients: 64, workers: 4, concurrency: 64, crashes: 1 / 1000 },
	mixed: { clients: 6, workers: 3, concurrency: 8, crashes: 1 / 100 },
	stream: { clients: 4, workers: 2, concurrency: 4, crashes: 1 / 50 },
	lapse: { clients: 2, workers: 0, concurrency: 1, crashes: 0 },
	queue: { clients: 4, workers: 1, concurrency: 2, crashes: 0 },
	purge: { clients: 2, workers: 1, concurrency: 4, crashes: 0 },
	// Its leases end while no take is open, and no other worker takes what it has lost.
	plain: { clients: 16, workers: 1, concurrency: 8, crashes: 0, silent: true },
};

const NAMES = Object.keys(PARTS) as EndpointName[];

/** Longest wait for the last jobs, ms. */
const DRAIN_MS = 150_000;

/** Between two faults, ms, at least and at most. */
const PAUSES = [500, 12_000] as const;

const AUDITORS = 64;
const AUDIT_MS = 500;
/** When a job of which nothing is heard is read, ms. */
const OPEN_MS = 5000;

/** The checker forgets what is older, ms: no job of a run lives that long. How often it does. */
const [FORGET_MS, FORGET_EVERY_MS] = [900_000, 60_000];

/** Settings of the endpoints of a run. */
export function endpointsWith({ bulk, others, records }: Retention): Endpoints {
	return Object.fromEntries(
		NAMES.map((name) => {
			const kept = name === "bulk" ? bulk : others;
			const settings = {
				launcher: { type: "external" },
				leaseMs: LEASE_MS,
				limits: name === "queue" ? { queue: QUEUE_LIMIT, ...NO_RATES() } : "off",
				retention: { run: kept, runsync: kept, records },
			};
			return [name, settings];
		}),
	);
}

export const ENDPOINTS = endpointsWith(RETENTION);

function NO_RATES(): object {
	const off = { per10s: "off", concurrent: "off" };
	return { run: off, runsync: off, status: off };
}

export interface TortureOptions {
	site: Site;
	seed: number;
	/** How long clients submit, ms; less when so many jobs are acknowledged. */
	ms: number;
	jobs?: number;
	/** Part of the clients; 1 by default. */
	scale?: number;
	/** Endpoints that are used; all by default. */
	names?: readonly EndpointName[];
	/** Pauses between faults, ms, at least and at most. */
	pauses?: readonly [number, number];
	/** Whether faults spare the servers from now on. */
	sparesServers?: () => boolean;
	retention?: Retention;
	/** Jobs are read again so long after their end, ms; by default after a fault, if there are any. */
	auditAfterMs?: number;
	pace?: ClientOptions["pace"];
	oneLargeOf?: number;
	cuts?: Cuts;
	/** Ends the run before its time. */
	signal?: AbortSignal;
	/** Processes of workers are stopped for a while, as often as they crash. */
	workerStops?: boolean;
	/** Servers share the store: by how many submissions the queue limit may be exceeded (D23). */
	shared?: { queueSlack: number };
	record?: (op: Op) => void;
	progress?: (acknowledged: number, faults: number) => void;
}

export interface Tortured {
	acknowledged: number;
	closed: number;
	operations: number;
	seconds: number;
	/** How often what was broken. */
	faults: Record<string, number>;
	violations: readonly Violation[];
}

const { now, sleep } = time;

export async function torture(o: TortureOptions): Promise<Tortured> {
	const { site, seed, scale = 1, names = NAMES, pauses = PAUSES } = o;
	const { auditAfterMs = site.fault ? Infinity : 0 } = o;
	const began = now();
	const checked = checker();
	let isJudged = false;
	const tracker = track((op) => {
		// After a violation clients still wait for answers.
		if (isJudged) return;
		o.record?.(op);
		checked.add(op);
	}, now);
	const random = randomOf(seed);
	const api = connect(site.urls, o.cuts);
	const hooks = await receiver(tracker, randomOf(seed + 1));
	describe(tracker, o);

	const submitting = new AbortController();
	const working = new AbortController();
	let numbers = 0;
	let runs = 0;
	const clients = names.flatMap((name) =>
		Array.from({ length: Math.max(1, Math.round(PARTS[name].clients * scale)) }, (_, n) =>
			useEndpoint(
				`${name}-client-${n}`,
				name,
				{ ...o, api, time, tracker, receiver: hooks.url, nextNumber: () => (numbers += 1) },
				submitting.signal,
			),
		),
	);
	const tokens = await tokensOf(api, site);
	const workers = names.flatMap((name) =>
		Array.from({ length: PARTS[name].workers }, (_, n) =>
			work(
				`${name}-worker-${n}`,
				{
					...PARTS[name],
					stops: o.workerStops ? PARTS[name].crashes : 0,
					endpoint: name,
					api,
					time,
					tracker,
					token: tokens.get(name)!,
					random: randomOf(seed * 31 + n),
					nextRun: () => (runs += 1),
				},
				working.signal,
			),
		),
	);

	const faults: Record<string, number> = {};
	let lastFault = -Infinity;

	async function fault(): Promise<void> {
		if (!site.fault) return;
		const from = now();
		const what = await site.fault(random, o.sparesServers?.());
		if (what === undefined) return;
		faults[what] = (faults[what] ?? 0) + 1;
		tracker.record({ op: "fault", by: "faults", what, result: "ok", from, to: now() });
		lastFault = from;
	}

	/** Reads the jobs that have ended before the last fault, and those long open; closes them. */
	async function audit(): Promise<void> {
		const present = now();
		const isLast = submitting.signal.aborted;
		const since = isLast ? present : Math.max(lastFault, present - auditAfterMs);
		const jobs = [...tracker.jobs.values()].filter(
			({ left, running, endedAt, met }) => left && running === 0 && (endedAt ?? met + OPEN_MS) < since,
		);
		let at = 0;
		async function auditor(): Promise<void> {
			while (at < jobs.length) {
				const job = jobs[(at += 1) - 1]!;
				const found = await auditJob({ api, time, tracker, job });
				const isCertain = found === "missing" || (found === "ended" && !waitsFor(job, now));
				if (isCertain && job.running === 0) tracker.close(job);
			}
		}
		await Promise.all(Array.from({ length: AUDITORS }, auditor));
		o.progress?.(
			checked.counts.acknowledged,
			Object.values(faults).reduce((a, b) => a + b, 0),
		);
	}

	const isOver = (): boolean =>
		o.signal?.aborted === true ||
		now() - began > o.ms ||
		checked.counts.acknowledged >= (o.jobs ?? Infinity) ||
		checked.violations.length > 0;
	const over = new AbortController();
	async function faultsGoOn(): Promise<void> {
		while (site.fault && !isOver()) {
			await sleep(pauses[0] + random() * (pauses[1] - pauses[0]), over.signal);
			if (!over.signal.aborted) await fault();
		}
	}

	async function auditsGoOn(): Promise<void> {
		let forgetAt = now() + FORGET_EVERY_MS;
		while (!isOver()) {
			await sleep(AUDIT_MS);
			await audit();
			if (now() < forgetAt) continue;
			checked.forget(now() - FORGET_MS);
			forgetAt = now() + FORGET_EVERY_MS;
		}
		over.abort();
	}

	await Promise.all([faultsGoOn(), auditsGoOn()]);
	submitting.abort();
	const drainedAt = now() + DRAIN_MS;
	const drained = new AbortController();
	if (checked.violations.length === 0)
		await Promise.race([Promise.all(clients), sleep(DRAIN_MS, drained.signal)]).finally(() => drained.abort());
	await fault();
	for (const job of tracker.jobs.values()) job.left = true;
	while (tracker.jobs.size > 0 && now() < drainedAt && checked.violations.length === 0) {
		await audit();
		await sleep(AUDIT_MS);
	}
	const found = [...checked.violations];
	for (const job of [...tracker.jobs.values()]) tracker.close(job);
	for (const name of names) await readHealth(api, tracker, name);
	working.abort();
	await Promise.all(workers);
	await hooks.end();
	await api.close();
	isJudged = true;
	return {
		...checked.counts,
		seconds: Math.round((now() - began) / 1000),
		faults,
		// What is cut off by a violation is none.
		violations: found.length > 0 ? found : checked.finish(),
	};
}

function describe(tracker: Tracker, { shared, retention = RETENTION }: TortureOptions): void {
	for (const id of NAMES) {
		const kept = id === "bulk" ? retention.bulk : retention.others;
		tracker.record({
			op: "endpoint",
			id,
			leaseMs: LEASE_MS,
			retentionMs: { run: kept, runsync: kept },
			...(id === "queue" ? { queue: { limit: QUEUE_LIMIT, slack: shared?.queueSlack ?? 0 } } : {}),
			...(shared ? { repeats: true as const } : {}),
		});
	}
}

/** A token of each endpoint, good for all of its workers. */
async function tokensOf(api: Api, site: Site): Promise<Map<EndpointName, string>> {
	const tokens = new Map<EndpointName, string>();
	for (const name of NAMES) {
		const url = site.urls()[0]!;
		const query = `?replicas=true&url=${encodeURIComponent(url)}`;
		const { json, text } = await api.call(`${url}/v1/endpoints/${name}/worker-env${query}`, {
			method: "POST",
			token: KEY,
		});
		if (!json?.env) throw new Error(`no token for workers of ${name}: ${text}`);
		tokens.set(name, json.env.RUNPOD_AI_API_KEY as string);
	}
	return tokens;
}
