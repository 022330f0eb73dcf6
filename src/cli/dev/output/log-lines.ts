import type { Clock } from "../../../kernel/system/clock.ts";
import type { JobState } from "../../../kernel/core/jobs/job-states.ts";
import { eventBus, type EventBus, type EventName } from "../../../kernel/events.ts";
import { log } from "../../../kernel/log.ts";
import { errorText, readable } from "../../commands/jobs/job-text.ts";
import { SHORTEST_ID } from "../../commands/jobs/short-id.ts";
import { stateStyled, styled } from "../../framework/style.ts";
import { counted } from "../../framework/table.ts";
import { printableLines } from "../../../kernel/lib/terminal-text.ts";
import { parseJson } from "../../client/service-client.ts";
import { trimmedStack } from "../../framework/stack.ts";
import { streamLines } from "./stream-lines.ts";

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

const MAX_TEXT = 4000;

/** A text that pauses is printed as far as it has come after this time, ms. */
const PAUSE_MS = 1000;

interface JobResult {
	/** JSON text of the output or the latest progress. Undefined if it cannot be read. */
	output?: string | undefined;
	error?: string | undefined;
}

export interface JobReader {
	result(id: string): Promise<JobResult>;
	/** Waits for chunks from number `from` or the end of the job. `over` also when aborted. */
	chunks(
		id: string,
		q: { from: number; signal: AbortSignal },
	): Promise<{ chunks: readonly string[]; next: number; over: boolean }>;
}

interface Attempt {
	startedAt: number;
	chunks: number;
	lost: AbortController;
	printed: Promise<void>;
}

interface Output {
	events: EventBus;
	clock: Clock;
	read: JobReader;
	verbose: boolean;
	print: (line: string) => void;
}

export function printEvents({ events, clock, read, verbose, print }: Output) {
	const running = new Map<string, Attempt>();
	const queued = new Set<string>();
	/** Next chunk number. Numbers of a lost attempt are not reused. */
	const nextChunk = new Map<string, number>();
	/** The line of a new job has its whole id, the others its end, which commands take too. */
	const step = (id: string, text: string): void => print(`job …${id.slice(-SHORTEST_ID)} ${text}`);
	const queuedLine = (id: string): void => print(`job ${id} ${styled("dim", "queued")}`);

	async function printChunks(id: string, attempt: Attempt): Promise<void> {
		const { signal } = attempt.lost;
		const lines = streamLines(
			(line) => step(id, printableLines(line)),
			(chunk) => step(id, `chunk ${shortened(chunk)}`),
		);
		for (let over = false; !over; ) {
			const from = nextChunk.get(id) ?? 0;
			const arrived = new AbortController();
			void clock.sleep(PAUSE_MS, arrived.signal).then(() => arrived.signal.aborted || lines.end());
			const part = await read.chunks(id, { from, signal }).catch(() => ({ chunks: [], next: from, over: true }));
			arrived.abort();
			lines.chunks(part.chunks);
			nextChunk.set(id, part.next);
			attempt.chunks += part.chunks.length;
			over = part.over || signal.aborted;
		}
		lines.end();
	}

	async function printProgress(id: string): Promise<void> {
		const { output }: JobResult = await read.result(id).catch(() => ({}));
		if (running.has(id) && output !== undefined) step(id, `progress ${shortened(output)}`);
	}

	async function printEnd(
		id: string,
		state: JobState,
		{ attempt, duration }: { attempt: Attempt | undefined; duration: string },
	): Promise<void> {
		await attempt?.printed;
		const { output, error }: JobResult = await read.result(id).catch(() => ({}));
		const chunks = attempt?.chunks ?? 0;
		nextChunk.delete(id);
		const took = duration + (chunks === 0 ? "" : `, ${counted(chunks, "chunk")}`);
		if (state === "COMPLETED") {
			step(id, styled("green", "done") + took);
			if (output !== undefined && !(chunks > 0 && isListOf(chunks, output))) print(`output ${shortened(output)}`);
		} else {
			const reason = error === undefined || state === "CANCELLED" ? "" : `: ${errorLines(error, verbose)}`;
			step(id, stateStyled(state) + took + reason);
		}
	}

	function end(id: string): Attempt | undefined {
		const attempt = running.get(id);
		running.delete(id);
		return attempt;
	}

	events.on("job.queued", ({ id, ignored = [] }) => {
		if (ignored.length > 0) step(id, styled("yellow", `ignores unknown ${ignored.join(", ")}`));
		// Already printed: the worker got the job before the client its response.
		if (running.has(id)) return;
		queued.add(id);
		queuedLine(id);
	});
	events.on("job.started", ({ id }) => {
		if (!queued.delete(id)) queuedLine(id);
		const now = clock.now();
		const attempt: Attempt = {
			startedAt: now,
			chunks: 0,
			lost: new AbortController(),
			printed: Promise.resolve(),
		};
		running.set(id, attempt);
		step(id, styled("dim", "started"));
		attempt.printed = printChunks(id, attempt);
	});
	events.on("job.progressed", ({ id }) => {
		void printProgress(id);
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
		void printEnd(id, state, { attempt, duration });
	});
	printProblems({ events, clock, print });
	return {
		unfinished: (): string[] => (running.size > 0 ? [...running.keys()] : [...queued]),
	};
}

/** Uses lines of the service's log without their time. */
function printProblems({ events, clock, print }: Pick<Output, "events" | "clock" | "print">): void {
	const logged = eventBus();
	log({ events: logged, clock, write: (line) => print(line.replace(/^\S+ /, "").trimEnd()) });
	events.onAny((name, facts) => {
		if (SERVICE_LOG.has(name)) logged.emit(name, facts as never);
	});
}

/** Whether the output is the chunks that were printed, or the empty list of a generator that does not aggregate. */
function isListOf(chunks: number, output: string): boolean {
	if (!output.startsWith("[")) return false;
	const list = parseJson(output);
	return Array.isArray(list) && (list.length === 0 || list.length === chunks);
}

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
