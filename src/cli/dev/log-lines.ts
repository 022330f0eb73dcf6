/** Output of a running `sluice dev`: steps of jobs, worker output, problems. */
import type { Clock } from "../../clock.ts";
import { eventBus } from "../../events.ts";
import type { EventBus, EventName } from "../../events.ts";
import { log } from "../../log.ts";
import { printable } from "../../core/terminal-text.ts";
import { errorText } from "../job-error.ts";

/** Printed as in the service's log. */
const SERVICE_LOG: ReadonlySet<EventName> = new Set<EventName>([
	"webhook.failed",
	"request.failed",
	"fault",
	"store.away",
	"store.back",
	"queue.purged",
	"worker.unhealthy",
	"stop.unconfirmed",
]);

/** Longer errors are cut, characters. */
const MAX_ERROR = 2000;

/** Prints a line per step of a job. `errorOf` returns a failed job's error. */
export function printEvents(q: {
	events: EventBus;
	clock: Clock;
	errorOf: (id: string) => Promise<string | undefined>;
	print: (line: string) => void;
}): void {
	const { events, clock, print } = q;
	const startedAt = new Map<string, number>();
	/** Printed as queued and not started since. */
	const queued = new Set<string>();
	events.on("job.queued", ({ id }) => {
		// The worker got the job before the client its response: already printed.
		if (startedAt.has(id)) return;
		queued.add(id);
		print(`job ${id} queued`);
	});
	events.on("job.started", ({ id }) => {
		if (!queued.delete(id)) print(`job ${id} queued`);
		startedAt.set(id, clock.now());
		print(`job ${id} started`);
	});
	events.on("job.returned", ({ id }) => {
		startedAt.delete(id);
		queued.add(id);
		print(`job ${id} requeued`);
	});
	events.on("job.settled", ({ id, state }) => {
		const since = startedAt.get(id);
		startedAt.delete(id);
		queued.delete(id);
		const duration = since === undefined ? "" : ` in ${clock.now() - since} ms`;
		if (state === "COMPLETED") return print(`job ${id} done${duration}`);
		if (state === "CANCELLED") return print(`job ${id} CANCELLED${duration}`);
		void q.errorOf(id).then((error) => {
			const reason = error === undefined ? "" : `: ${errorLines(error)}`;
			print(`job ${id} ${state}${duration}${reason}`);
		});
	});
	const logged = eventBus();
	log({ events: logged, clock, write: (line) => print(line.replace(/^\S+ /, "").trimEnd()) });
	events.onAny((name, facts) => {
		if (SERVICE_LOG.has(name)) logged.emit(name, facts as never);
	});
}

/** A line of worker output; reduces SDKs' JSON lines to text (protocol B.9). */
export function workerLine(text: string): string {
	try {
		const { requestId, message, level } = JSON.parse(text) as Record<string, unknown>;
		if (typeof message === "string" && typeof level === "string") {
			const job = typeof requestId === "string" ? `${requestId} ` : "";
			return `worker | ${level.padEnd(5)} ${job}${outputText(message)}`;
		}
	} catch {
		// Not an SDK's line.
	}
	return `worker | ${outputText(text)}`;
}

function outputText(text: string): string {
	return text.split("\n").map(printable).join("\n       | ");
}

function errorLines(error: string): string {
	const text = errorText(error).slice(0, MAX_ERROR).trimEnd();
	return text.split("\n").map(printable).join("\n    ");
}
