/** Runs the open batches of all endpoints, on one server at a time (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import { unlessUnavailable } from "../../kernel/engine/context.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow, OpenBatch } from "../../kernel/store/contract/batches.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { loop, type Loop } from "../../kernel/system/loop.ts";
import { type Batch, openBatch, type RunContext, type Shared, Superseded } from "./batch.ts";
import { openBatches, type Standing } from "./open-batches.ts";
import { isOver } from "./progress.ts";

/** Batches of an endpoint that run at once; others wait for their turn, oldest first. */
const MOST = 8;

/** Inputs that are read whole at once. */
const VALIDATIONS = 2;

/** Time between reads of the rows: with a batch, and without any where other servers may create one, ms. */
const CHECK_MS = 2000;
const IDLE_MS = { alone: 3_600_000, shared: 5000 };

/** Time between two reports that a batch cannot go on, ms. */
const REPORT_MS = 600_000;

/** Faults of one file, which no outage of the store reports. */
const OF_A_FILE: ReadonlySet<string> = new Set(["full", "unreadable", "unwritable"]);

/** Ended batches are removed after that. */
const KEPT_MS = 90 * 86_400_000;
const EXPIRE_MS = 3_600_000;
const EXPIRED = 100;

interface Run {
	batch: Batch;
	cancelledAt: number | undefined;
	stop: AbortController;
	listeners: Set<() => void>;
	task: Promise<void>;
}

interface RunnerContext extends Omit<RunContext, "kernel" | "files" | "shared"> {
	/** Undefined while no module stores files. */
	files: () => RunContext["files"] | undefined;
	/** A batch cannot go on at present, and is tried again. */
	delayed: (facts: { endpoint: string; batch: string; reason: string }) => void;
}

export interface Runner {
	service: Loop;
	/** Open batches by endpoint, as of the last read. */
	open(): ReadonlyMap<string, number>;
	wantedWorkers(endpoint: string): number;
	/** A batch was created or cancelled. */
	changed(): void;
}

export function batchRunner(kernel: Kernel, { files, ...more }: RunnerContext): Runner {
	const { store, cluster, clock, now } = kernel;
	const runs = new Map<string, Run>();
	const shared: Shared = { unstoredBytes: 0, validation: turns(VALIDATIONS) };
	/** Not before that time after a failure. */
	const resting = new Map<string, number>();
	/** When it was last reported that a batch cannot go on. */
	const delayedAt = new Map<string, number>();
	const open = openBatches(kernel, { own: (id) => runs.get(id)?.batch.progress });
	/** Endpoints with a batch that can go on. */
	let active: ReadonlySet<string> = new Set();
	let expiredAt = -Infinity;

	function start(row: BatchRow, d: RunContext): void {
		const batch = openBatch(d, row);
		const run: Run = {
			batch,
			cancelledAt: row.cancelledAt,
			stop: new AbortController(),
			listeners: new Set(),
			task: Promise.resolve(),
		};
		runs.set(row.id, run);
		const control = {
			signal: run.stop.signal,
			cancelledAt: () => run.cancelledAt,
			beside: () => Math.max(1, running(row.endpoint)),
			onCancel(listener: () => void) {
				run.listeners.add(listener);
				return () => void run.listeners.delete(listener);
			},
		};
		const failed = unlessUnavailable(kernel, `batch ${row.id}`);
		run.task = import("./run.ts")
			.then(({ runBatch }) => runBatch(d, batch, control))
			.catch((error: unknown) => {
				if (run.stop.signal.aborted || error instanceof Superseded) return;
				resting.set(row.id, now() + CHECK_MS);
				const { message } = error as Error;
				if (error instanceof ApiError || (error instanceof StoreUnavailable && OF_A_FILE.has(error.why)))
					delayed(row, message);
				else failed(error);
			})
			.finally(() => {
				runs.delete(row.id);
				service.nudge();
			});
	}

	function delayed({ id: batch, endpoint }: BatchRow, reason: string): void {
		if (now() - (delayedAt.get(batch) ?? -Infinity) < REPORT_MS) return;
		delayedAt.set(batch, now());
		more.delayed({ endpoint, batch, reason });
	}

	function running(endpoint: string): number {
		const all = [...runs.values()].map(({ batch }) => batch);
		return all.filter(({ row, progress }) => row.endpoint === endpoint && !isOver(progress)).length;
	}

	/** One that ends, or has only its webhook left, waits for no turn. */
	function mayStart({ id, endpoint, cancelledAt }: OpenBatch, standing: Standing): boolean {
		if (runs.has(id) || (resting.get(id) ?? 0) > now()) return false;
		const isEnding = cancelledAt !== undefined || now() >= standing.expiresAt || standing.isOver;
		return isEnding || running(endpoint) < MOST;
	}

	async function stopAll(): Promise<void> {
		for (const { stop } of runs.values()) stop.abort();
		await Promise.all([...runs.values()].map(({ task }) => task));
	}

	/** Starts those that may start, and lets the others know that they were cancelled. */
	async function run(d: RunContext): Promise<void> {
		await open.each(mayStart, (head, standing, row) => {
			const begun = runs.get(head.id);
			if (!begun && row && mayStart(row, standing)) start(row, d);
			if (!begun || begun.cancelledAt === head.cancelledAt) return;
			begun.cancelledAt = head.cancelledAt;
			for (const listener of begun.listeners) listener();
		});
	}

	async function step(): Promise<number> {
		await open.read();
		const leads = cluster.leads("sweep");
		const stored = files();
		if (leads && stored) await run({ kernel, files: stored, shared, ...more });
		else await open.readSome();
		const before = active;
		active = open.active();
		if ([...active].some((endpoint) => !before.has(endpoint))) kernel.scaling.check();
		if (!leads) {
			await stopAll();
			return IDLE_MS.shared;
		}
		if (now() - expiredAt >= EXPIRE_MS) {
			expiredAt = now();
			while ((await store.batches.expire({ before: now() - KEPT_MS, limit: EXPIRED })) > 0);
		}
		for (const [id, until] of resting) if (until <= now()) resting.delete(id);
		for (const [id, at] of delayedAt) if (now() - at >= REPORT_MS) delayedAt.delete(id);
		return open.heads.length > 0 ? CHECK_MS : cluster.shared ? IDLE_MS.shared : IDLE_MS.alone;
	}

	const checks = loop({ clock, retryMs: CHECK_MS, onError: unlessUnavailable(kernel, "batches"), step });
	const service: Loop = {
		...checks,
		async stop() {
			await checks.stop();
			await stopAll();
		},
	};
	return {
		service,
		open: open.counts,
		wantedWorkers: (endpoint) => (active.has(endpoint) ? 1 : 0),
		changed: () => checks.nudge(),
	};
}

/** At most so many have a turn at once, in the order in which they asked. */
function turns(most: number): () => Promise<() => void> {
	let taken = 0;
	const waiting: (() => void)[] = [];
	return async () => {
		if (taken >= most) await new Promise<void>((resolve) => waiting.push(resolve));
		else taken += 1;
		return () => {
			const next = waiting.shift();
			if (next) next();
			else taken -= 1;
		};
	};
}
