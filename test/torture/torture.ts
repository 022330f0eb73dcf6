/**
 * Clients, workers and faults at a site, for a while; then everything settles and the history is
 * judged. A job is closed when it was read again after a fault that followed its end.
 */
import { api as connect, type Cuts } from "./api.ts";
import { batchClients } from "./batch-clients.ts";
import { auditJob, cancelJob, holdsJobs, readHealth, waitsFor } from "./audit.ts";
import { checker, type Counts } from "./checker/checker.ts";
import type { Violation } from "./checker/job-history.ts";
import { type ClientOptions, useEndpoint } from "./clients.ts";
import { changedEndpoints, describe, NAMES, PARTS, type Retention, tokensOf } from "./endpoints.ts";
import type { Op } from "./history.ts";
import { fileClients } from "./file-clients.ts";
import { readFileTotals } from "./file-totals.ts";
import { objectClients } from "./object-clients.ts";
import { operators } from "./operators.ts";
import { type EndpointName, random as randomOf } from "./plan.ts";
import { receiver } from "./receiver.ts";
import { responseClients } from "./response-clients.ts";
import type { Site } from "./site.ts";
import { machineTime as time } from "./time.ts";
import { tracker as track } from "./tracker.ts";
import { work } from "./worker.ts";

/** Longest wait for the last jobs, ms. */
const DRAIN_MS = 150_000;

/** When jobs that still run in the drain are cancelled, ms: three runs of one that hangs would outlast it. */
const CANCEL_MS = 60_000;

/** Between two faults, ms, at least and at most. */
const PAUSES = [500, 12_000] as const;

const AUDITORS = 64;
const AUDIT_MS = 500;
/** When a job of which nothing is heard is read, ms. */
const OPEN_MS = 5000;

/** The checker forgets what is older, ms: no job of a run lives that long. How often it does. */
const [FORGET_MS, FORGET_EVERY_MS] = [900_000, 60_000];

export interface TortureOptions {
	site: Site;
	seed: number;
	/** How long clients submit, ms; less when so many jobs are acknowledged. */
	ms: number;
	jobs?: number;
	/** Part of the clients; 1 by default. */
	scale?: number;
	/** How many change endpoints and templates at all servers; none by default. */
	operators?: number;
	/** How many upload, read and delete files; none by default. */
	files?: number;
	/** How many put, read and delete objects with the S3 API; none by default. */
	objects?: number;
	/** How many run batches of requests; none by default. */
	batches?: number;
	/** How many use background responses; none by default. */
	responses?: number;
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

export interface Tortured extends Counts {
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
	const changes = operators({
		...{ api, time, tracker },
		random: randomOf(seed + 3),
		busy: changedEndpoints(o.retention),
	});
	await changes.makeBusy();
	const tokens = await tokensOf(api);

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
	const changing = Array.from({ length: o.operators ?? 0 }, (_, n) => changes.work(`operator-${n}`, submitting.signal));
	const uploads = fileClients({ api, time, tracker, random: randomOf(seed + 4) });
	const uploading = Array.from({ length: o.files ?? 0 }, (_, n) => uploads.work(`files-${n}`, submitting.signal));
	const buckets = o.objects ? await objectClients({ api, time, tracker, random: randomOf(seed + 7) }) : undefined;
	const storing = Array.from({ length: o.objects ?? 0 }, (_, n) => buckets!.work(`objects-${n}`, submitting.signal));
	const gaveUp = new AbortController();
	const shared = { api, time, tracker, names, over: gaveUp.signal, nextNumber: () => (numbers += 1) };
	const requests = batchClients({ ...shared, random: randomOf(seed + 5) });
	const batches = Array.from({ length: o.batches ?? 0 }, (_, n) => requests.work(`batches-${n}`, submitting.signal));
	const inBackground = responseClients({ ...shared, random: randomOf(seed + 6) });
	const responses = Array.from({ length: o.responses ?? 0 }, (_, n) =>
		inBackground.work(`responses-${n}`, submitting.signal),
	);
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
	const cancelAt = now() + CANCEL_MS;
	const drained = new AbortController();
	if (checked.violations.length === 0)
		await Promise.race([Promise.all([...clients, ...batches, ...responses]), sleep(DRAIN_MS, drained.signal)]).finally(
			() => drained.abort(),
		);
	await Promise.all([...changing, ...uploading, ...storing]);
	await fault();
	if (o.operators) await changes.readAll(site.urls());
	if (o.files) await uploads.readAll(site.urls());
	await buckets?.readAll(site.urls());
	if (o.batches) await requests.readAll(site.urls());
	if (o.files || o.batches || o.objects)
		await readFileTotals({ api, time, tracker, endpoints: names, objects: buckets });
	gaveUp.abort();
	for (const job of tracker.jobs.values()) job.left = true;
	const isOpen = async (): Promise<boolean> => tracker.jobs.size > 0 || (await holdsJobs(api, names));
	while (checked.violations.length === 0 && now() < drainedAt && (await isOpen())) {
		await audit();
		if (now() > cancelAt)
			for (const job of tracker.jobs.values()) if (job.running > 0) await cancelJob({ api, tracker, job });
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
