/** Makes the files of a batch from its parts, and ends it (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import type { WrittenFile } from "../../kernel/engine/stored-files.ts";
import { stringOf } from "../../kernel/lib/json/json-text.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { Batch, Control, RunContext } from "./batch.ts";
import { inputFrom } from "./input.ts";
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

export async function finish(d: RunContext, batch: Batch, { signal }: Control): Promise<void> {
	const { files } = d;
	const { output, errors, ending = "completed", shown } = batch.progress;
	const rest = { count: 0 };
	const made: Made[] = [];
	const lost: string[] = [];
	let isStored = false;
	try {
		const join = async (parts: readonly Part[], more?: AsyncIterable<Uint8Array>): Promise<Made | undefined> => {
			const [only] = parts;
			if (only && parts.length === 1 && !more) return { file: only };
			if (!only && !more) return undefined;
			const written = await files.write(joined(d, parts, { more, lost, signal }));
			const one = { file: written, written };
			made.push(one);
			return written.bytes > 0 ? one : undefined;
		};
		const answers = await join(output);
		const others = await join(errors, batch.progress.next && remainder(d, batch, rest));
		const kept = [answers && batch.fileRow(answers.file, "output"), others && batch.fileRow(others.file, "error")];
		const rows = kept.filter((each) => each !== undefined);
		const parts = [...output, ...errors].map(({ id }) => id);
		const faults = lost.length > 0 ? [...batch.progress.faults, LOST_RESULTS] : batch.progress.faults;
		const [members, open] = batch.over(lost.length > 0 ? "failed" : ending, {
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

/** Throws the reason of the signal. */
async function* joined(
	{ files }: RunContext,
	parts: readonly Part[],
	{ more, lost, signal }: { more: AsyncIterable<Uint8Array> | undefined; lost: string[]; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
	for (const part of parts) {
		const reader = await files.open(part, { start: 0, end: part.bytes }).catch((error: unknown) => {
			if (!(error instanceof ApiError)) throw error;
			lost.push(part.id);
		});
		if (!reader) continue;
		try {
			for await (const piece of reader) {
				signal.throwIfAborted();
				yield piece;
			}
		} finally {
			await reader.close();
		}
	}
	if (!more) return;
	for await (const piece of more) {
		signal.throwIfAborted();
		yield piece;
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
	try {
		for await (const line of linesFrom(reader, next)) {
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
