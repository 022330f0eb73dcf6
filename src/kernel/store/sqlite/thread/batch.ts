/** T1 to T11: see README.md. */
import { throwIfFlushFailed, unavailable } from "../file/disk-errors.ts";
import { openEndpoints } from "../queries/endpoints.ts";
import { openJobs } from "../queries/jobs.ts";
import { openMeta } from "../queries/meta.ts";
import { openSecrets } from "../queries/secrets.ts";
import { type AllDialectHandlers, memberOf, OP_NAMES, OPERATIONS } from "../../operations/table.ts";
import type { Failure, Reply } from "./messages.ts";
import type { Kind, Operation, OpName } from "../../operations/operation.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { CODECS } from "./codecs.ts";
import type { Clock } from "../../../system/clock.ts";
import { openWebhooks } from "../queries/webhooks.ts";
import { openTables } from "../tables.ts";

type Handler = (q: unknown) => unknown;

interface Op {
	index: number;
	kind: Kind;
	run: () => unknown;
}

const KINDS = OP_NAMES.map((name) => OPERATIONS[name].kind);

function handlersOf(unit: UnitOfWork): Handler[] {
	const table = openTables(unit);
	const own: AllDialectHandlers = {
		jobs: openJobs(unit),
		endpoints: openEndpoints(unit, table),
		webhooks: openWebhooks(unit, table),
		secrets: openSecrets(unit),
		...openMeta(unit),
	};
	return OP_NAMES.map((name) => {
		const { apply, work } = OPERATIONS[name] as Operation<OpName>;
		if (apply) return (q) => apply(unit, q as never);
		return work ? (q) => table(work(q as never)) : (memberOf(own, name) as Handler);
	});
}

/** A transaction with this many operations takes no further batch (T8). */
const MOST_SHARED = 256;

class BatchRun {
	readonly answers: unknown[] = [];
	readonly failures: Failure[] = [];
	readonly #unit;
	readonly #handlers;
	readonly #clock;
	/** Claims are last (T3). */
	readonly #shared: Op[] = [];
	readonly #claims: Op[] = [];
	open = false;
	commitMs: number | undefined;
	#fault: { error: unknown } | undefined;

	constructor(unit: UnitOfWork, handlers: readonly Handler[], clock: Pick<Clock, "now">) {
		this.#unit = unit;
		this.#clock = clock;
		this.#handlers = handlers;
	}

	/** Runs a batch alone if it writes nothing, else in the shared transaction, without its claims. */
	add(batch: readonly unknown[]): void {
		const { ops, writes } = this.#unpack(batch);
		if (!writes && !this.open) return ops.forEach((op) => this.#alone(op));
		for (const op of ops) (op.kind === "claim" ? this.#claims : this.#shared).push(op);
		this.#together(() => {
			if (!this.open) this.#unit.begin();
			this.open = true;
			for (const op of ops) if (op.kind !== "claim") op.run();
		});
	}

	/** Runs the claims and commits; after a failure runs each operation alone (T5). */
	end(): void {
		if (this.open) {
			this.#together(() => {
				for (const op of this.#claims) op.run();
				const began = this.#clock.now();
				this.#unit.commit();
				this.commitMs = this.#clock.now() - began;
			});
		}
		const ops = [...this.#shared, ...this.#claims];
		if (this.open && !this.#fault) this.#confirm(ops.map(({ index }) => index));
		if (!this.#fault) return;
		const [only] = ops;
		if (ops.length === 1 && only && only.kind !== "fresh") this.#failed(only.index, this.#fault.error);
		else ops.forEach((op) => this.#alone(op));
	}

	#unpack(packed: readonly unknown[]): { ops: Op[]; writes: boolean } {
		const ops: Op[] = [];
		let writes = false;
		for (let at = 0; at < packed.length; at += 2) {
			const index = this.answers.length;
			const number = packed[at] as number;
			const codec = CODECS[number];
			const handler = this.#handlers[number];
			const kind = KINDS[number];
			if (!codec || !handler || !kind) throw new Error(`There is no store operation ${number}.`);
			const q = codec.unpack(packed[at + 1]);
			this.answers.push(undefined);
			ops.push({ index, kind, run: () => (this.answers[index] = codec.packAnswer(handler(q))) });
			if (kind === "write" || kind === "claim") writes = true;
			else if (kind === "fresh") writes ||= this.#unit.horizon.reached((q as { now: number }).now);
		}
		return { ops, writes };
	}

	#alone({ index, kind, run }: Op): void {
		try {
			if (kind === "write" || kind === "claim") {
				this.#unit.transaction(run);
				this.#confirm([index]);
			} else run();
		} catch (error) {
			throwIfFlushFailed(error, this.#unit.db.path);
			this.#failed(index, error);
		}
	}

	/** Takes the answers back if what was committed is lost at the next start (T9). */
	#confirm(committed: readonly number[]): void {
		try {
			this.#unit.confirm();
		} catch (error) {
			for (const index of committed) this.#failed(index, error, true);
		}
	}

	/** Skipped after a failure (T5). */
	#together(step: () => void): void {
		if (this.#fault) return;
		try {
			step();
		} catch (error) {
			throwIfFlushFailed(error, this.#unit.db.path);
			this.#fault = { error };
			if (this.open) this.#unit.rollback();
		}
	}

	#failed(index: number, error: unknown, unsure?: true): void {
		const fault = unavailable(error, this.#unit.db.path);
		const { message } = fault ?? (error as Error);
		this.answers[index] = undefined;
		this.failures.push({ index, why: fault?.why, unsure: unsure ?? fault?.unsure, message });
	}
}

/**
 * Batches that `next` returns share the transaction and commit of the first (decision 0003); `mayWait`: for the rest of
 * the turn (T11). Throws `FlushFailed`, after which nothing may be written any more.
 */
export function openBatches(
	unit: UnitOfWork,
	clock: Pick<Clock, "now">,
): (batch: readonly unknown[], next?: (mayWait: boolean) => readonly unknown[] | undefined) => Reply {
	const handlers = handlersOf(unit);
	return (first, next = () => undefined) => {
		const run = new BatchRun(unit, handlers, clock);
		let batches = 0;
		for (let batch: readonly unknown[] | undefined = first; batch; ) {
			batches += 1;
			run.add(batch);
			batch = run.answers.length < MOST_SHARED ? next(run.open && !unit.queues.hasBacklog()) : undefined;
		}
		run.end();
		// Answers and signals leave only after the commit (T4).
		return {
			batches,
			commitMs: run.commitMs,
			answers: run.answers,
			failures: run.failures,
			signals: unit.signals.take(),
			segments: unit.texts.takeChanges(),
		};
	};
}
