/** Makes the files of a batch from its parts, and ends it (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import type { ContentReader, WrittenFile } from "../../kernel/engine/stored-files.ts";
import { stringOf } from "../../kernel/lib/json/json-text.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { Batch, Control, RunContext } from "./batch.ts";
import { inputFrom, unlessLost } from "./input.ts";
import { linesFrom, requestIn } from "./lines.ts";
import { withoutAnswer } from "./outcome.ts";
import type { InputFault, Part } from "./progress.ts";

/** The store has lost bytes. */
const LOST_RESULTS: InputFault = {
	code: "results_missing",
	line: null,
	message:
		"Bytes of results are missing in the store, so requests are in no file. Restore a backup, or run them again.",
	param: null,
};

/** A part as it is, or the bytes of several. */
type Made = { file: Part; written?: WrittenFile };

/** The store has not all bytes of a part. */
class LostPart extends Error {
	readonly part: string;

	constructor(part: string, cause: ApiError) {
		super(`Part ${part} has lost bytes.`, { cause });
		this.part = part;
	}
}

/** Parts that have lost bytes are left out, however many there are. */
export async function finish(d: RunContext, batch: Batch, q: Pick<Control, "signal">): Promise<void> {
	const lost = new Set<string>();
	for (;;)
		try {
			return await finishWithout(lost, { d, batch, ...q });
		} catch (error) {
			if (!(error instanceof LostPart)) throw error;
			lost.add(error.part);
		}
}

/** Throws {@link LostPart} before it has changed anything. */
async function finishWithout(
	lost: ReadonlySet<string>,
	{ d, batch, signal }: { d: RunContext; batch: Batch; signal: AbortSignal },
): Promise<void> {
	const { files } = d;
	const { output, errors, ending = "completed", shown } = batch.progress;
	const rest = { count: 0 };
	const made: Made[] = [];
	let isStored = false;
	try {
		const join = async (all: readonly Part[], more?: AsyncIterable<Uint8Array>): Promise<Made | undefined> => {
			const parts = all.filter(({ id }) => !lost.has(id));
			const [only] = parts;
			if (!only && !more) return undefined;
			const pieces = joined(d, parts, { more, signal });
			if (only && parts.length === 1 && !more) {
				for await (const _ of pieces);
				return { file: only };
			}
			const written = await files.write(pieces);
			const one = { file: written, written };
			made.push(one);
			return written.bytes > 0 ? one : undefined;
		};
		const answers = await join(output);
		const others = await join(errors, batch.progress.next && remainder(d, batch, rest));
		const kept = [answers && batch.fileRow(answers.file, "output"), others && batch.fileRow(others.file, "error")];
		const rows = kept.filter((each) => each !== undefined);
		const parts = [...output, ...errors].map(({ id }) => id);
		const faults = lost.size > 0 ? [...batch.progress.faults, LOST_RESULTS] : batch.progress.faults;
		const [members, open] = batch.over(lost.size > 0 ? "failed" : ending, {
			faults,
			...{ next: undefined, output: [], errors: [], waits: undefined },
			outputFile: answers?.file.id ?? null,
			errorFile: others?.file.id ?? null,
			shown: { ...shown, failed: shown.failed + rest.count },
		});
		await batch.save(members, { ...open, insert: rows, remove: parts, isBounded: false });
		isStored = true;
		d.ended(batch);
		for (const id of parts) if (!rows.some((row) => row.id === id)) await files.remove(id);
	} catch (error) {
		// The rows may be stored. Otherwise a sweep removes the bytes.
		isStored ||= error instanceof StoreUnavailable && error.unsure;
		throw error;
	} finally {
		for (const { written } of made)
			if (isStored && written && written.bytes > 0) written.done();
			else await written?.drop();
	}
}

/** Throws {@link LostPart}, and the reason of the signal. */
async function* joined(
	{ files }: RunContext,
	parts: readonly Part[],
	{ more, signal }: { more: AsyncIterable<Uint8Array> | undefined; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
	for (const part of parts)
		for await (const piece of bytesOf(files, part)) {
			signal.throwIfAborted();
			yield piece;
		}
	if (!more) return;
	for await (const piece of more) {
		signal.throwIfAborted();
		yield piece;
	}
}

/** Throws {@link LostPart}. */
async function* bytesOf(files: RunContext["files"], part: Part): AsyncGenerator<Uint8Array> {
	let reader: ContentReader | undefined;
	try {
		reader = await files.open(part, { start: 0, end: part.bytes });
		yield* reader;
	} catch (error) {
		throw error instanceof ApiError ? new LostPart(part.id, error) : error;
	} finally {
		await reader?.close();
	}
}

/** Lines of requests that were never submitted. */
async function* remainder({ files }: RunContext, batch: Batch, rest: { count: number }): AsyncGenerator<Uint8Array> {
	const { next, input, path, ending } = batch.progress;
	if (!next || ending === "failed") return;
	const code = ending === "expired" ? "batch_expired" : "batch_cancelled";
	const reader = await inputFrom(files, { endpoint: batch.row.endpoint, input, byte: next.byte });
	// It was deleted meanwhile.
	if (!reader) return;
	const lines = linesFrom(reader, next);
	try {
		for (;;) {
			const found = await unlessLost(lines.next());
			if (!found || found.done) return;
			const line = found.value;
			const request = await requestIn(line, path);
			if (!("customId" in request)) continue;
			const { text } = withoutAnswer({ id: batch.requestId(line.line), customId: request.customId }, code);
			rest.count += 1;
			yield Buffer.from(`${stringOf(text)}\n`);
		}
	} finally {
		await reader.close();
	}
}
