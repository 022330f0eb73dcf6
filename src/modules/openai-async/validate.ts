/** Reads the input of a batch once, before any of it runs (D57). */
import { hash } from "node:crypto";
import type { InputFault, Place } from "./progress.ts";
import { linesFrom, requestIn } from "./lines.ts";

/** Lines of one batch. */
export const MOST_LINES = 100_000;

/** 132 bits. */
const DIGEST_LENGTH = 22;

/** Faults that are shown. */
const MOST_FAULTS = 100;

/** Bytes after which other work runs. */
const TURN_BYTES = 2 ** 20;

/** Number of requests and place of the first, or what is wrong with the file. */
export type Validation = { total: number; first: Place } | { faults: InputFault[] };

/** Stops at the 100th fault. Throws the reason of the signal. */
export async function validate(
	pieces: AsyncIterable<Uint8Array>,
	{ path, signal }: { path: string; signal: AbortSignal },
): Promise<Validation> {
	const faults: InputFault[] = [];
	const ofFile = (code: string, message: string): InputFault => ({ code, line: null, message, param: null });
	/** Lines by digest of their name, so that long names need no more memory than short ones. */
	const lineOf = new Map<string, number>();
	let first: Place | undefined;
	let total = 0;
	let turn = 0;
	for await (const line of linesFrom(pieces, { line: 1, byte: 0 })) {
		signal.throwIfAborted();
		total += 1;
		if (total > MOST_LINES) {
			faults.push(ofFile("too_many_tasks", `The file has more than ${MOST_LINES} requests. Split it.`));
			break;
		}
		first ??= { line: line.line, byte: line.byte };
		const request = await requestIn(line, path);
		if ("code" in request) faults.push(request);
		else {
			const { customId } = request;
			const digest = hash("sha256", customId, "base64").slice(0, DIGEST_LENGTH);
			const before = lineOf.get(digest);
			if (before === undefined) lineOf.set(digest, line.line);
			else {
				const message = `The custom_id ${JSON.stringify(customId.slice(0, 64))} is that of line ${before} too.`;
				faults.push({ code: "duplicate_custom_id", line: line.line, message, param: "custom_id" });
			}
		}
		if (faults.length >= MOST_FAULTS) break;
		turn += line.bytes?.length ?? 0;
		if (turn < TURN_BYTES) continue;
		turn = 0;
		await new Promise((resolve) => setImmediate(resolve));
	}
	if (!first) faults.push(ofFile("empty_file", "The file has no requests: it needs one JSON object in each line."));
	return faults.length > 0 || !first ? { faults } : { total, first };
}
