/** The lines of `sluice dev`: what happens to jobs, what the worker says, what goes wrong. */
import type { Clock } from "../../clock.ts";
import { eventBus } from "../../events.ts";
import type { EventBus, EventName } from "../../events.ts";
import { log } from "../../log.ts";
import { plain } from "../table.ts";

/** Events that are told in the words of the service's own log. */
const AS_LOGGED: ReadonlySet<EventName> = new Set<EventName>([
	"webhook.failed",
	"request.failed",
	"fault",
	"store.away",
	"store.back",
	"queue.purged",
	"worker.unhealthy",
	"stop.unconfirmed",
]);

/** Longest error that is told, in characters. */
const LONGEST_ERROR = 2000;

/** Writes a line for each step of a job. `errorOf` answers the error of a job that failed. */
export function devLines(q: {
	events: EventBus;
	clock: Clock;
	errorOf: (id: string) => Promise<string | undefined>;
	say: (line: string) => void;
}): void {
	const { events, clock, say } = q;
	const begun = new Map<string, number>();
	/** Told as waiting. */
	const waiting = new Set<string>();
	const queued = (id: string): void => say(`job ${id} queued`);
	events.on("job.queued", ({ id }) => {
		// Its start was told with it: a worker that gets a job is answered before whoever submitted it.
		if (begun.has(id)) return;
		waiting.add(id);
		queued(id);
	});
	events.on("job.started", ({ id }) => {
		if (!waiting.delete(id)) queued(id);
		begun.set(id, clock.now());
		say(`job ${id} started`);
	});
	events.on("job.returned", ({ id }) => {
		begun.delete(id);
		waiting.add(id);
		say(`job ${id} waits again`);
	});
	events.on("job.settled", ({ id, state }) => {
		const since = begun.get(id);
		begun.delete(id);
		waiting.delete(id);
		const took = since === undefined ? "" : ` in ${clock.now() - since} ms`;
		if (state === "COMPLETED") return say(`job ${id} done${took}`);
		if (state === "CANCELLED") return say(`job ${id} CANCELLED${took}`);
		void q
			.errorOf(id)
			.then((error) =>
				say(`job ${id} ${state}${took}${error === undefined ? "" : `: ${indented(error)}`}`),
			);
	});
	const rest = eventBus();
	log({ events: rest, clock, write: (line) => say(line.replace(/^\S+ /, "").trimEnd()) });
	events.onAny((name, facts) => {
		if (AS_LOGGED.has(name)) rest.emit(name, facts as never);
	});
}

/**
 * A worker's line as people read it: that of an SDK, which is JSON, taken apart (protocol
 * B.9).
 */
export function workerLine(text: string): string {
	try {
		const { requestId, message, level } = JSON.parse(text) as {
			requestId?: unknown;
			message?: unknown;
			level?: unknown;
		};
		if (typeof message === "string" && typeof level === "string")
			return `worker | ${level.padEnd(5)} ${typeof requestId === "string" ? `${requestId} ` : ""}${shown(message)}`;
	} catch {
		// A line of the handler's own.
	}
	return `worker | ${shown(text)}`;
}

function shown(text: string): string {
	return text.split("\n").map(plain).join("\n       | ");
}

/** An error as the SDKs send it, a JSON object with a traceback, or as a sentence. */
function indented(error: string): string {
	let text = error;
	try {
		const {
			error_type: type,
			error_message: message,
			error_traceback: trace,
		} = JSON.parse(error) as Record<string, unknown>;
		text =
			typeof trace === "string"
				? trace
				: typeof message === "string"
					? `${String(type)}: ${message}`
					: error;
	} catch {
		// A sentence.
	}
	return text.slice(0, LONGEST_ERROR).trimEnd().split("\n").map(plain).join("\n    ");
}
