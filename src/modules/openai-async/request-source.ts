/** Reads the requests of a batch and submits them, a window at a time (D57). */
import { queueBound } from "../../kernel/core/endpoints/endpoint.ts";
import type { ContentReader } from "../../kernel/engine/stored-files.ts";
import type { Batch, Control, RunContext } from "./batch.ts";
import { inputFrom, unlessLost } from "./input.ts";
import { type Line, linesFrom, requestIn } from "./lines.ts";
import type { OpenLine, Place } from "./progress.ts";
import type { Submissions } from "./submissions.ts";

/** Requests of a batch that wait or run, at least; twice as many as its workers run, if that is more. */
const WINDOW = 64;

/** A window is filled in so many steps at most, each of which reads the length of the queue. */
const STEPS = 8;

/** Bytes of requests that are on their way to the store, of all batches of this server. */
const UNSTORED_BYTES = 16 * 2 ** 20;

/** Lines after the one at hand that the row says may have jobs, so that few of its versions say so. */
const AHEAD = 256;

/** Part of the queue that batches leave to other clients. */
const QUEUE_SHARE = 2;

export type RequestSource = ReturnType<typeof requestSource>;

export function requestSource(
	{ kernel, files, shared }: RunContext,
	batch: Batch,
	{ requests, beside }: { requests: Submissions } & Pick<Control, "beside">,
) {
	const { row } = batch;
	/** The first line that was never read; undefined after the last. */
	let next = batch.progress.next;
	let again: readonly Place[] = batch.progress.refused ?? [];
	let source: { reader: ContentReader; lines: AsyncGenerator<Line> } | undefined;
	/** Lines before this one may have jobs of an earlier run. */
	const { tried = 0 } = batch.progress;
	let isMissing = false;

	async function openAt(place: Place): Promise<{ reader: ContentReader; lines: AsyncGenerator<Line> } | undefined> {
		const { input } = batch.progress;
		const reader = await inputFrom(files, { endpoint: row.endpoint, input, byte: place.byte });
		return reader && { reader, lines: linesFrom(reader, place) };
	}

	/** Undefined if the input does not exist any more. */
	async function lineAt(place: Place): Promise<Line | undefined> {
		const opened = await openAt(place);
		try {
			return (opened && (await unlessLost(opened.lines.next())))?.value as Line | undefined;
		} finally {
			await opened?.reader.close();
		}
	}

	/** `missing`: the input does not exist any more. */
	async function read(): Promise<Line | "missing" | undefined> {
		const [place] = again;
		if (!place) return await readNext();
		const line = await lineAt(place);
		again = again.slice(1);
		return line ?? "missing";
	}

	async function readNext(): Promise<Line | "missing" | undefined> {
		if (!next) return undefined;
		source ??= await openAt(next);
		if (!source) return "missing";
		const found = await unlessLost(source.lines.next());
		if (!found) return "missing";
		const line = found.done ? undefined : (found.value as Line);
		next = line?.next;
		return line;
	}

	const mayHaveJob = (): boolean => !isMissing && next !== undefined && next.line < tried;

	async function submit(count: number, following: typeof read): Promise<boolean> {
		for (let left = count; left > 0 && shared.unstoredBytes < UNSTORED_BYTES; left -= 1) {
			const line = await following();
			if (line === undefined) return true;
			if (line === "missing") {
				isMissing = true;
				return false;
			}
			const request = await requestIn(line, batch.progress.path);
			if (!("customId" in request)) throw new Error(`Line ${line.line} of ${batch.progress.input} has changed.`);
			if (line.line >= (batch.progress.tried ?? 0)) await batch.save({ tried: line.line + AHEAD });
			requests.start(line, request);
		}
		return true;
	}

	return {
		/** Whether every request was submitted, or is on its way. */
		get isDone(): boolean {
			return next === undefined && again.length === 0;
		},
		/** Whether some are to be submitted again. */
		get repeats(): boolean {
			return again.length > 0;
		},
		/** The first request, but for refused ones, whose job may not be stored; undefined after the last. */
		first(): Place | undefined {
			const places = [requests.firstUnsure(), next].filter((each) => each !== undefined);
			return places.toSorted((a, b) => a.line - b.line)[0];
		},
		/** Requests that were refused, and are submitted again. */
		refused: (): readonly Place[] => [...again, ...requests.waiting],
		/** Submits as many as there is room for. False if the input does not exist any more. */
		fill: async (): Promise<boolean> =>
			await submit(await roomFor(kernel, row.endpoint, { count: requests.count, beside: beside() }), read),
		/** Whether lines that are not submitted have jobs, perhaps: an earlier run ended before its row said so. */
		get mayHaveJobs(): boolean {
			return mayHaveJob();
		},
		/** Submits some of them again, which finds the jobs that there are. */
		async findJobs(): Promise<void> {
			await submit(WINDOW - requests.count, async () => (mayHaveJob() ? await readNext() : undefined));
		},
		repeat: (places: readonly Place[]): void =>
			void (again = [...again, ...places].toSorted((a, b) => a.line - b.line)),
		/** Takes the requests that are to be submitted again. */
		async givenUp(): Promise<Omit<OpenLine, "job">[]> {
			const lines: Omit<OpenLine, "job">[] = [];
			for (const place of again) {
				const line = await lineAt(place);
				const request = line && (await requestIn(line, batch.progress.path));
				lines.push({ ...place, customId: request && "customId" in request ? request.customId : "" });
			}
			again = [];
			return lines;
		},
		close: async (): Promise<void> => await source?.reader.close(),
	};
}

/**
 * How many more requests of a batch may be submitted now. `count`: those that wait or run; `beside`: batches of the
 * endpoint, with which it shares the window.
 */
async function roomFor(
	kernel: RunContext["kernel"],
	endpoint: string,
	{ count, beside }: { count: number; beside: number },
): Promise<number> {
	const settings = kernel.endpoints.get(endpoint);
	let held = 0;
	for (const worker of kernel.workers.registry.of(endpoint)) held += worker.held.size;
	const window = Math.ceil(Math.max(WINDOW, 2 * held) / beside);
	const left = window - count;
	if (left < window / STEPS && count > 0) return 0;
	const bound = queueBound(settings);
	if (bound === undefined) return left;
	const { inQueue } = await kernel.store.jobs.counts({ endpoint, now: kernel.now() });
	return Math.min(left, Math.max(1, Math.floor(bound / QUEUE_SHARE)) - inQueue);
}
