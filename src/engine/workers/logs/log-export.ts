/**
 * Exports the output of launched workers (D52), from their log files: while the collector does not answer, lines wait
 * there and not in memory, and a failed export costs one part of them.
 */
import type { Job } from "../../../core/jobs/job.ts";
import type { TraceContext } from "../../../core/tracing/trace-context.ts";
import { loop, type Service } from "../../../system/loop.ts";
import type { ExportedLine, LogExporter } from "../../../telemetry/contract.ts";
import type { Worker } from "../worker-registry.ts";
import type { WorkersContext } from "../workers-context.ts";
import { entryOf } from "./worker-logs.ts";

/** The last jobs of each worker whose attempts are known: lines are read soon after they were written. */
const MOST_JOBS = 64;

/** Time for the last lines when the service stops, ms. */
const STOP_MS = 2000;

interface Followed {
	worker: Worker;
	/** Position in its log; undefined: of a worker that was taken over, from its present end on. */
	at: number | undefined;
	ended: boolean;
	attempts: Map<string, { attempt: number; trace: TraceContext | undefined }>;
}

export function workerLogExport(
	d: Pick<WorkersContext, "events" | "clock" | "workerLogs" | "registry"> & {
		exporter: LogExporter;
		withoutSecrets: (worker: Worker, text: string) => string;
	},
) {
	const { events, clock, workerLogs, registry, exporter } = d;
	const followed = new Map<string, Followed>();

	function follow({ endpoint, worker: id }: { endpoint: string; worker: string }, at?: number): Followed | undefined {
		const worker = registry.get({ endpoint, id });
		if (worker && !followed.has(id)) followed.set(id, { worker, at, ended: false, attempts: new Map() });
		return followed.get(id);
	}
	events.on("worker.launched", (facts) => void follow(facts, 0));
	events.on("worker.adopted", (facts) => void follow(facts));
	events.on("worker.exited", (facts) => {
		// It may end before its start is recorded.
		const ended = follow(facts, 0);
		if (ended) ended.ended = true;
	});

	/** Exports at most 64 KiB. Returns whether there is more. */
	async function exportPart(id: string, each: Followed): Promise<boolean> {
		const { ended } = each;
		const extent = await workerLogs.extent(id);
		const from = each.at ?? extent?.last ?? 0;
		each.at = from;
		const part = extent && extent.last > from && (await workerLogs.read({ workerId: id, from, whole: ended }));
		if (!part || part.next === from) {
			if (ended) followed.delete(id);
			return false;
		}
		const entries = part.lines.map(entryOf);
		const texts = hidden(
			each.worker,
			entries.map(({ text }) => text),
		);
		const lines = entries.map((entry, index) => lineOf(each, { ...entry, text: texts[index]! }));
		const lost = extent.first - from;
		if (lost > 0) lines.unshift(lineOf(each, { text: `${lost} bytes were removed before they could be exported.` }));
		await exporter.send(lines);
		each.at = part.next;
		return !part.end;
	}

	/** All at once, which costs far less, unless a hidden value has several of the lines. */
	function hidden(worker: Worker, texts: readonly string[]): string[] {
		const found = d.withoutSecrets(worker, texts.join("\n")).split("\n");
		return found.length === texts.length ? found : texts.map((text) => d.withoutSecrets(worker, text));
	}

	function lineOf(
		{ worker, attempts }: Followed,
		{ text, time, job, level }: Partial<ReturnType<typeof entryOf>> & { text: string },
	): ExportedLine {
		const { attempt, trace } = (job !== undefined && attempts.get(job)) || {};
		return {
			text,
			at: time === undefined ? clock.wall() : Date.parse(time),
			level,
			trace,
			attributes: {
				"messaging.destination.name": worker.endpoint,
				"messaging.client.id": worker.id,
				...(job !== undefined && { "messaging.message.id": job }),
				...(attempt !== undefined && { "sluice.attempt": attempt }),
			},
		};
	}

	async function step(): Promise<number> {
		await exporter.send([]);
		let isMore = false;
		for (const [id, each] of followed) isMore = (await exportPart(id, each)) || isMore;
		return isMore ? 0 : exporter.delayMs;
	}
	const onError = (error: unknown): void => events.emit("fault", { where: "exporting logs", error });
	const repeated = loop({ clock, step, retryMs: exporter.delayMs, onError });
	const service: Service = {
		start: repeated.start,
		async stop() {
			const over = new AbortController();
			await Promise.race([repeated.stop().then(step).catch(onError), clock.sleep(STOP_MS, over.signal)]);
			over.abort();
		},
	};
	return {
		service,
		/** The job was handed to its worker; `trace`: the context that the worker got. */
		handed(
			{ id, worker = "", attempt }: Pick<Job, "id" | "worker" | "attempt">,
			trace: TraceContext | undefined,
		): void {
			const attempts = followed.get(worker)?.attempts;
			if (!attempts) return;
			attempts.set(id, { attempt, trace });
			for (const oldest of attempts.keys()) if (attempts.size > MOST_JOBS) attempts.delete(oldest);
		},
	};
}
