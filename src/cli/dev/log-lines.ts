/** Output of a running `sluice dev` about jobs: steps, chunks, progress, results; and problems. */
import type { Clock } from "../../clock.ts";
import { eventBus, type EventBus, type EventName } from "../../events.ts";
import { log } from "../../log.ts";
import { errorText } from "../job-error.ts";
import { readable } from "../job-text.ts";
import { stateStyled, styled } from "../style.ts";
import { printableLines } from "../../core/terminal-text.ts";
import { trimmedStack } from "./stack.ts";

/** Printed as in the service's log. */
const SERVICE_LOG: ReadonlySet<EventName> = new Set<EventName>([
	"webhook.failed",
	"request.failed",
	"fault",
	"store.away",
	"store.failed",
	"store.back",
	"queue.purged",
	"worker.unhealthy",
	"stop.unconfirmed",
]);

/** Longer texts are cut, characters. */
const MAX_TEXT = 4000;

/** A job that is silent for so long is mentioned, ms; then after twice the time, and so on. */
const SILENCE_MS = 30_000;

/** Reads of the service. */
export interface JobReader {
	/** JSON text of the output, or of the latest progress value; undefined if it cannot be read. */
	result(id: string): Promise<{ output?: string | undefined; error?: string | undefined }>;
	/** Waits for chunks from number `from`, or for the end of the job; `over` also when aborted. */
	chunks(
		id: string,
		q: { from: number; signal: AbortSignal },
	): Promise<{ chunks: readonly string[]; next: number; over: boolean }>;
}

interface JobPrinter {
	/** Jobs that run, or wait if none runs. */
	unfinished(): string[];
}

interface Attempt {
	startedAt: number;
	newsAt: number;
	chunks: number;
	ended: AbortController;
	/** The job went back to the queue. */
	lost: AbortController;
	/** All chunks are printed. */
	printed: Promise<void>;
}

/** Prints lines per job. */
export function printEvents(q: {
	events: EventBus;
	clock: Clock;
	read: JobReader;
	verbose: boolean;
	print: (line: string) => void;
}): JobPrinter {
	const { events, clock, read, verbose, print } = q;
	const running = new Map<string, Attempt>();
	/** Printed as queued and not started since. */
	const queued = new Set<string>();
	/** Number of the next chunk; those of a lost attempt are not used again. */
	const nextChunk = new Map<string, number>();
	const step = (id: string, text: string): void => print(`job ${id} ${text}`);

	async function printChunks(id: string, attempt: Attempt): Promise<void> {
		const { signal } = attempt.lost;
		for (let over = false; !over; ) {
			const from = nextChunk.get(id) ?? 0;
			const part = await read.chunks(id, { from, signal }).catch(() => ({ chunks: [], next: from, over: true }));
			for (const chunk of part.chunks) step(id, `chunk ${shortened(chunk)}`);
			nextChunk.set(id, part.next);
			attempt.chunks += part.chunks.length;
			if (part.chunks.length > 0) attempt.newsAt = clock.now();
			over = part.over || signal.aborted;
		}
	}

	async function mentionSilence(id: string, attempt: Attempt): Promise<void> {
		const { signal } = attempt.ended;
		for (let silence = SILENCE_MS; !signal.aborted; ) {
			const due = attempt.newsAt + silence;
			if (clock.now() < due) await clock.sleep(due - clock.now(), signal);
			else {
				const seconds = Math.round((clock.now() - attempt.startedAt) / 1000);
				const text = `has been running for ${seconds} s and is silent. c cancels it.`;
				step(id, styled("yellow", text));
				silence *= 2;
			}
		}
	}

	function end(id: string): Attempt | undefined {
		const attempt = running.get(id);
		running.delete(id);
		attempt?.ended.abort();
		return attempt;
	}

	events.on("job.queued", ({ id }) => {
		// The worker got the job before the client its response: already printed.
		if (running.has(id)) return;
		queued.add(id);
		step(id, styled("dim", "queued"));
	});
	events.on("job.started", ({ id }) => {
		if (!queued.delete(id)) step(id, styled("dim", "queued"));
		const now = clock.now();
		const attempt: Attempt = {
			startedAt: now,
			newsAt: now,
			chunks: 0,
			ended: new AbortController(),
			lost: new AbortController(),
			printed: Promise.resolve(),
		};
		running.set(id, attempt);
		step(id, styled("dim", "started"));
		attempt.printed = printChunks(id, attempt);
		void mentionSilence(id, attempt);
	});
	events.on("job.progressed", ({ id }) => {
		const attempt = running.get(id);
		if (attempt) attempt.newsAt = clock.now();
		void read.result(id).then(
			({ output }) => {
				if (running.has(id) && output !== undefined) step(id, `progress ${shortened(output)}`);
			},
			() => {},
		);
	});
	events.on("job.returned", ({ id }) => {
		end(id)?.lost.abort();
		queued.add(id);
		step(id, styled("yellow", "requeued"));
	});
	events.on("job.settled", ({ id, state }) => {
		const attempt = end(id);
		queued.delete(id);
		const duration = attempt ? ` in ${clock.now() - attempt.startedAt} ms` : "";
		const settled = attempt?.printed ?? Promise.resolve();
		void settled
			.then(() => read.result(id))
			.catch(() => ({}))
			.then(({ output, error }: Awaited<ReturnType<JobReader["result"]>>) => {
				const chunks = attempt?.chunks ?? 0;
				nextChunk.delete(id);
				const count = chunks === 0 ? "" : `, ${chunks} ${chunks === 1 ? "chunk" : "chunks"}`;
				if (state === "COMPLETED") {
					step(id, `${styled("green", "done")}${duration}${count}`);
					// Of a generator that does not aggregate.
					const isEmpty = output === undefined || (chunks > 0 && output === "[]");
					if (!isEmpty) print(`output ${shortened(output)}`);
				} else {
					const reason = error === undefined ? "" : `: ${errorLines(error, verbose)}`;
					step(id, `${stateStyled(state)}${duration}${count}${state === "CANCELLED" ? "" : reason}`);
				}
			});
	});
	const logged = eventBus();
	log({ events: logged, clock, write: (line) => print(line.replace(/^\S+ /, "").trimEnd()) });
	events.onAny((name, facts) => {
		if (SERVICE_LOG.has(name)) logged.emit(name, facts as never);
	});
	return { unfinished: () => (running.size > 0 ? [...running.keys()] : [...queued]) };
}

/** On lines of its own if it has line ends. */
function shortened(json: string): string {
	const isCut = json.length > MAX_TEXT;
	const text = readable(isCut ? json.slice(0, MAX_TEXT) : json);
	return isCut ? `${text}… (${json.length} characters)` : text;
}

function errorLines(error: string, verbose: boolean): string {
	const text = errorText(error);
	const lines = printableLines((verbose ? text : trimmedStack(text)).slice(0, MAX_TEXT).trimEnd());
	return lines.split("\n").join("\n    ");
}
