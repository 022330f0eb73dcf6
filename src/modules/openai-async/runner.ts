/** Runs the open batches of all endpoints, on one server at a time (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import { unlessUnavailable } from "../../kernel/engine/context.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { loop, type Loop } from "../../kernel/system/loop.ts";
import { type RunContext, type Shared, Superseded } from "./batch.ts";
import { isOver, type Progress, progressOf } from "./progress.ts";

/** Batches of an endpoint that run at once; others wait for their turn, oldest first. */
const MOST = 8;

/** Inputs that are read whole at once. */
const VALIDATIONS = 2;

/** Rows read at once. */
const READ = 1000;

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
	row: BatchRow;
	/** Only its webhook is left. */
	isOver: boolean;
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
	let rows: BatchRow[] = [];
	/** Endpoints with a batch that can go on. */
	let active: ReadonlySet<string> = new Set();
	let expiredAt = -Infinity;

	function start(row: BatchRow, d: RunContext, isDone: boolean): void {
		const run: Run = {
			row,
			isOver: isDone,
			stop: new AbortController(),
			listeners: new Set(),
			task: Promise.resolve(),
		};
		runs.set(row.id, run);
		const control = {
			signal: run.stop.signal,
			cancelledAt: () => run.row.cancelledAt,
			beside: () => Math.max(1, running(row.endpoint)),
			onCancel(listener: () => void) {
				run.listeners.add(listener);
				return () => void run.listeners.delete(listener);
			},
		};
		const failed = unlessUnavailable(kernel, `batch ${row.id}`);
		run.task = import("./run.ts")
			.then(({ runBatch }) => runBatch(d, row, control))
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
		return [...runs.values()].filter((each) => each.row.endpoint === endpoint && !each.isOver).length;
	}

	/** One that ends, or has only its webhook left, waits for no turn. */
	function mayStart({ endpoint, cancelledAt }: BatchRow, progress: Progress): boolean {
		const isEnding = cancelledAt !== undefined || now() >= progress.expiresAt || isOver(progress);
		return isEnding || running(endpoint) < MOST;
	}

	async function stopAll(): Promise<void> {
		for (const { stop } of runs.values()) stop.abort();
		await Promise.all([...runs.values()].map(({ task }) => task));
	}

	async function step(): Promise<number> {
		rows = await store.batches.open({ limit: READ });
		const before = active;
		const progressById = new Map(rows.map((row) => [row.id, progressOf(row)]));
		active = new Set(rows.filter(({ id }) => canGoOn(progressById.get(id)!)).map(({ endpoint }) => endpoint));
		if ([...active].some((endpoint) => !before.has(endpoint))) kernel.scaling.check();
		if (!cluster.leads("sweep")) {
			await stopAll();
			return IDLE_MS.shared;
		}
		const stored = files();
		for (const row of stored ? rows : []) {
			const run = runs.get(row.id);
			const progress = progressById.get(row.id)!;
			if (run) {
				const isNews = run.row.cancelledAt !== row.cancelledAt;
				run.row = row;
				run.isOver = isOver(progress);
				if (isNews) for (const listener of run.listeners) listener();
			} else if ((resting.get(row.id) ?? 0) <= now() && mayStart(row, progress))
				start(row, { kernel, files: stored!, shared, ...more }, isOver(progress));
		}
		if (now() - expiredAt >= EXPIRE_MS) {
			expiredAt = now();
			while ((await store.batches.expire({ before: now() - KEPT_MS, limit: EXPIRED })) > 0);
		}
		for (const [id, until] of resting) if (until <= now()) resting.delete(id);
		for (const [id, at] of delayedAt) if (now() - at >= REPORT_MS) delayedAt.delete(id);
		return rows.length > 0 ? CHECK_MS : cluster.shared ? IDLE_MS.shared : IDLE_MS.alone;
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
		open: () => countsOf(rows),
		wantedWorkers: (endpoint) => (active.has(endpoint) ? 1 : 0),
		changed: () => checks.nudge(),
	};
}

const canGoOn = (progress: Progress): boolean => progress.waits === undefined && !isOver(progress);

function countsOf(rows: readonly BatchRow[]): ReadonlyMap<string, number> {
	const counts = new Map<string, number>();
	for (const { endpoint } of rows) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
	return counts;
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
