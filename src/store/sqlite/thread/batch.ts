/** Runs the operations of batches in shared transactions. T1 to T8: see README.md. */
import { unavailable } from "../database.ts";
import { openChunks } from "../chunks.ts";
import { openEndpoints } from "../endpoints.ts";
import { openJobs } from "../jobs.ts";
import { openKeys, openTokens } from "../keys.ts";
import { openMeta } from "../meta.ts";
import { openMetrics } from "../metrics.ts";
import { OP_NAMES, OPS } from "../../operations.ts";
import type { Failure, Reply } from "./messages.ts";
import type { Group, GroupHandlers, Kind, OpName } from "../../operations.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { CODECS } from "./codecs.ts";
import { openWebhooks } from "../webhooks.ts";
import { openWorkers } from "../workers.ts";

type Handler = (q: unknown) => unknown;

/** One operation of a batch, ready to run. */
interface Op {
	index: number;
	kind: Kind;
	run: () => unknown;
}

/** The handlers by number, from the files of each noun. */
function handlersOf(parts: UnitOfWork): Handler[] {
	const groups: { [G in Group]: GroupHandlers<G> } = {
		jobs: openJobs(parts),
		chunks: openChunks(parts),
		endpoints: openEndpoints(parts),
		workers: openWorkers(parts),
		tokens: openTokens(parts),
		keys: openKeys(parts),
		webhooks: openWebhooks(parts),
		metrics: openMetrics(parts),
	};
	const all: Record<string, Record<string, unknown>> = groups;
	const meta: Record<string, unknown> = openMeta(parts);
	return OP_NAMES.map((name: OpName) => {
		const [group = "", method] = name.split(".");
		return (method === undefined ? meta[name] : all[group]?.[method]) as Handler;
	});
}

/** A transaction that holds so many operations takes no further batch (T8). */
const MOST_SHARED = 256;

/**
 * Answers batches; a batch is number and packed query of each operation in turn. Batches that
 * `next` has when the one before is done share its transaction and its commit (decision 0021).
 */
export function openBatches(
	parts: UnitOfWork,
): (batch: readonly unknown[], next?: () => readonly unknown[] | undefined) => Reply {
	const handlers = handlersOf(parts);
	const kinds = OP_NAMES.map((name) => OPS[name]);

	function failureOf(index: number, error: unknown): Failure {
		const fault = unavailable(error, parts.db.path);
		return { index, why: fault?.why, message: (fault ?? (error as Error)).message };
	}

	return (batch, next = () => undefined) => {
		const answers: unknown[] = [];
		const failures: Failure[] = [];
		/** What is done in the shared transaction, in its order; claims are last (T3). */
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
				else if (kind === "fresh") writes ||= parts.horizon.reached((q as { now: number }).now);
			}
			return { ops, writes };
		}

		function runAlone({ index, kind, run }: Op): void {
			try {
				if (kind === "write" || kind === "claim") parts.transaction(run);
				else run();
			} catch (error) {
				answers[index] = undefined;
				failures.push(failureOf(index, error));
			}
		}

		/** A step of the shared transaction; none follows one that failed (T5). */
		function together(step: () => void): void {
			if (fault) return;
			try {
				step();
			} catch (error) {
				fault = { error };
				if (open) parts.rollback();
			}
		}

		let batches = 0;
		for (
			let packed: readonly unknown[] | undefined = batch;
			packed;
			packed = answers.length < MOST_SHARED ? next() : undefined
		) {
			batches += 1;
			const { ops, writes } = unpack(packed);
			if (!writes && !open) {
				ops.forEach(runAlone);
				continue;
			}
			for (const op of ops) (op.kind === "claim" ? claims : shared).push(op);
			together(() => {
				if (!open) parts.begin();
				open = true;
				for (const op of ops) if (op.kind !== "claim") op.run();
			});
		}
		if (open) {
			together(() => {
				for (const op of claims) op.run();
				parts.commit();
			});
		}
		if (fault) {
			const ops = [...shared, ...claims];
			const [only] = ops;
			if (ops.length === 1 && only && only.kind !== "fresh")
				failures.push(failureOf(only.index, fault.error));
			else ops.forEach(runAlone);
		}
		// Only now, after the commit, may answers and signals leave (T4).
		return { batches, answers, failures, signals: parts.takeSignals() };
	};
}
