/** Runs the operations of batches in shared transactions. T1 to T11: see README.md. */
import { throwIfFlushFailed, unavailable } from "../disk-errors.ts";
import { openEndpoints } from "../endpoints.ts";
import { openJobs } from "../jobs.ts";
import { openMeta } from "../meta.ts";
import { openSecrets } from "../secrets.ts";
import { type AllDialectHandlers, memberOf, OP_NAMES, OPERATIONS } from "../../operations/table.ts";
import type { Failure, Reply } from "./messages.ts";
import type { Kind, Operation, OpName } from "../../operations/operation.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { CODECS } from "./codecs.ts";
import { openWebhooks } from "../webhooks.ts";
import { openTables } from "../tables.ts";

type Handler = (q: unknown) => unknown;

/** One operation of a batch, ready to run. */
interface Op {
	index: number;
	kind: Kind;
	run: () => unknown;
}

/** The handlers by number: shared rules over SQLite's rows, and SQLite's own. */
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

/**
 * Answers batches, each the number and packed query of each operation in turn. Batches that `next`
 * returns after the one before share its transaction and commit (decision 0003); `mayWait`: for
 * the rest of the turn (T11). Throws `FlushFailed`, after which nothing may be written any more.
 */
export function openBatches(
	unit: UnitOfWork,
): (batch: readonly unknown[], next?: (mayWait: boolean) => readonly unknown[] | undefined) => Reply {
	const handlers = handlersOf(unit);
	const kinds = OP_NAMES.map((name) => OPERATIONS[name].kind);

	function failureOf(index: number, error: unknown): Failure {
		const fault = unavailable(error, unit.db.path);
		return {
			index,
			why: fault?.why,
			unsure: fault?.unsure,
			message: (fault ?? (error as Error)).message,
		};
	}

	return (batch, next = () => undefined) => {
		const answers: unknown[] = [];
		const failures: Failure[] = [];
		/** The operations of the shared transaction in order; claims are last (T3). */
		const shared: Op[] = [];
		const claims: Op[] = [];
		let open = false;
		let fault: { error: unknown } | undefined;

		/** The operations of a batch, and whether they need a transaction. */
		function unpack(packed: readonly unknown[]): { ops: Op[]; writes: boolean } {
			const ops: Op[] = [];
			let writes = false;
			for (let at = 0; at < packed.length; at += 2) {
				const index = answers.length;
				const number = packed[at] as number;
				const codec = CODECS[number];
				const handler = handlers[number];
				const kind = kinds[number];
				if (!codec || !handler || !kind) throw new Error(`There is no store operation ${number}.`);
				const q = codec.unpack(packed[at + 1]);
				answers.push(undefined);
				ops.push({ index, kind, run: () => (answers[index] = codec.packAnswer(handler(q))) });
				if (kind === "write" || kind === "claim") writes = true;
				else if (kind === "fresh") writes ||= unit.horizon.reached((q as { now: number }).now);
			}
			return { ops, writes };
		}

		function runAlone({ index, kind, run }: Op): void {
			try {
				if (kind === "write" || kind === "claim") {
					unit.transaction(run);
					confirm([index]);
				} else run();
			} catch (error) {
				throwIfFlushFailed(error, unit.db.path);
				answers[index] = undefined;
				failures.push(failureOf(index, error));
			}
		}

		/** Takes the answers back if what was committed is lost at the next start (T9). */
		function confirm(committed: readonly number[]): void {
			try {
				unit.confirm();
			} catch (error) {
				for (const index of committed) {
					answers[index] = undefined;
					failures.push({ ...failureOf(index, error), unsure: true });
				}
			}
		}

		/** A step of the shared transaction; skipped after a failure (T5). */
		function together(step: () => void): void {
			if (fault) return;
			try {
				step();
			} catch (error) {
				throwIfFlushFailed(error, unit.db.path);
				fault = { error };
				if (open) unit.rollback();
			}
		}

		let batches = 0;
		for (
			let packed: readonly unknown[] | undefined = batch;
			packed;
			packed = answers.length < MOST_SHARED ? next(open && !unit.queues.hasBacklog()) : undefined
		) {
			batches += 1;
			const { ops, writes } = unpack(packed);
			if (!writes && !open) {
				ops.forEach(runAlone);
				continue;
			}
			for (const op of ops) (op.kind === "claim" ? claims : shared).push(op);
			together(() => {
				if (!open) unit.begin();
				open = true;
				for (const op of ops) if (op.kind !== "claim") op.run();
			});
		}
		if (open) {
			together(() => {
				for (const op of claims) op.run();
				unit.commit();
			});
		}
		const ops = [...shared, ...claims];
		if (open && !fault) confirm(ops.map(({ index }) => index));
		if (fault) {
			const [only] = ops;
			if (ops.length === 1 && only && only.kind !== "fresh") failures.push(failureOf(only.index, fault.error));
			else ops.forEach(runAlone);
		}
		// Answers and signals leave only after the commit (T4).
		return {
			batches,
			answers,
			failures,
			signals: unit.takeSignals(),
			segments: unit.texts.takeChanges(),
		};
	};
}
