/**
 * Exports the output of launched workers (D52), from their log files: while the collector does not answer, lines wait
 * there and not in memory, and a failed export costs one part of them. Lines of a worker whose hidden values are not
 * known are not exported.
 */
import { ApiError } from "../../../core/errors.ts";
import type { Job } from "../../../core/jobs/job.ts";
import { eachWithoutSecrets, type HiddenValues } from "../../../core/workers/hidden-values.ts";
import type { TraceContext } from "../../../core/tracing/trace-context.ts";
import { LINE_BYTES } from "../../../launchers/launcher.ts";
import type { ExportedLine, LogExporter } from "../../../telemetry/contract.ts";
import type { Worker } from "../worker-registry.ts";
import type { WorkersContext } from "../workers-context.ts";
import { type LogEntry, readLog } from "./worker-logs.ts";

/** Attempts that are kept of each worker: lines are read soon after they were written. */
const MOST_JOBS = 64;

const POLL_MS = 1000;

/** What a piece may be shorter than a whole one: the begin of a character and a carriage return. */
const CUT_BYTES = 4;

type Attempts = Map<string, { attempt: number; trace: TraceContext | undefined }>;

/** Returns what is to be called when a job is handed to its worker, with the context that the worker got. */
export function exportWorkerLogs(
	d: WorkersContext,
	exporter: LogExporter,
): (job: Pick<Job, "endpoint" | "id" | "worker" | "attempt">, trace: TraceContext | undefined) => void {
	const followed = new WeakMap<Worker, Attempts>();

	async function follow(worker: Worker, hidden: HiddenValues, from: number | undefined): Promise<void> {
		const { endpoint, id } = worker;
		const attempts: Attempts = new Map();
		followed.set(worker, attempts);
		const query = { endpoint, worker: id, from, tail: 0, follow: true, pollMs: POLL_MS, left: d.background.stopped };
		for await (const entries of await readLog(d, query))
			if (entries.length > 0) await exporter.send(linesOf(entries, { worker, hidden, attempts }));
	}

	function linesOf(
		entries: readonly LogEntry[],
		{ worker, hidden, attempts }: { worker: Worker; hidden: HiddenValues; attempts: Attempts },
	): ExportedLine[] {
		// All at once, since a hidden value may have several of the lines, and stand in two pieces of one.
		const shown = eachWithoutSecrets(
			entries.map(({ text }) => ({ text, goesOn: mayGoOn(text) })),
			hidden,
		);
		return entries.map(({ time, job, level }, index) => {
			const { attempt, trace } = attempts.get(job ?? "") ?? {};
			return {
				text: shown[index]!,
				at: time === undefined ? d.clock.wall() : Date.parse(time),
				level,
				trace,
				attributes: {
					"messaging.destination.name": worker.endpoint,
					"messaging.client.id": worker.id,
					...(job !== undefined && { "messaging.message.id": job }),
					...(attempt !== undefined && { "sluice.attempt": attempt }),
				},
			};
		});
	}

	for (const event of ["worker.launched", "worker.adopted", "worker.exited"] as const)
		d.events.on(event, ({ endpoint, worker: id }) => {
			// One may end before its start is recorded.
			const from = event === "worker.adopted" ? undefined : 0;
			const worker = d.registry.get({ endpoint, id });
			if (!worker?.hidden || followed.has(worker)) return;
			// A stop of the service does not wait for it.
			follow(worker, worker.hidden, from).catch((error: unknown) => {
				// One without output that has ended is not found.
				if (!(error instanceof ApiError)) d.events.emit("fault", { where: `exporting the log of ${id}`, error });
			});
		});
	return ({ endpoint, id, worker: taker = "", attempt }, trace) => {
		const worker = d.registry.get({ endpoint, id: taker });
		const attempts = worker && followed.get(worker);
		attempts?.set(id, { attempt, trace });
		if (attempts && attempts.size > MOST_JOBS) attempts.delete(attempts.keys().next().value!);
	};
}

/** Whether it is as long as a piece of a longer line. A whole line that is taken for one is hidden as well. */
function mayGoOn(text: string): boolean {
	return Buffer.byteLength(text) >= LINE_BYTES - CUT_BYTES;
}
