/** Results of `sluice jobs submit --file`: one JSON line per input line, resumable (D36). */
import {
	closeSync,
	createReadStream,
	existsSync,
	fdatasync,
	fdatasyncSync,
	openSync,
	statSync,
	truncateSync,
	writeSync,
} from "node:fs";
import { flushFile } from "../../durable-file.ts";
import { CliError } from "../errors.ts";
import { membersOf } from "../json-members.ts";

export interface Result {
	/** Line number in the input, from 1. */
	index: number;
	/** The job's state, or `REFUSED`: rejected, or its job can no longer be read. */
	status: string;
	id?: string | undefined;
	/** JSON text. */
	output?: string | undefined;
	/** JSON text. */
	error?: string | undefined;
	/** Idempotency key. */
	key: string;
}

export interface Results {
	/** The status from an earlier run of this line. */
	known(index: number, key: string): string | undefined;
	write(result: Result): void;
	close(): void;
}

/** `file`: `-` is standard input. `end`: offset after the line; `whole`: ends with a newline. */
export async function* linesOf(file: string): AsyncGenerator<{ bytes: Buffer; end: number; whole: boolean }> {
	let pieces: Buffer[] = [];
	let end = 0;
	const source = file === "-" ? process.stdin : createReadStream(file);
	for await (const piece of source as AsyncIterable<Buffer>) {
		let from = 0;
		for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
			const bytes = Buffer.concat([...pieces, piece.subarray(from, at)]);
			pieces = [];
			from = at + 1;
			end += bytes.length + 1;
			yield { bytes, end, whole: true };
		}
		if (from < piece.length) pieces.push(piece.subarray(from));
	}
	const bytes = Buffer.concat(pieces);
	if (bytes.length > 0) yield { bytes, end: end + bytes.length, whole: false };
}

/** To standard output, without results of earlier runs. */
export function printedResults(): Results {
	return { known: () => undefined, write: (result) => void process.stdout.write(lineOf(result)), close() {} };
}

/**
 * Appends to a file's earlier results; removes an incomplete last line. Throws {@link CliError} if
 * the file contains anything else.
 */
export async function fileResults(path: string): Promise<Results> {
	const known = new Map<string, string>();
	if (existsSync(path)) {
		let good = 0;
		for await (const { bytes, end, whole } of linesOf(path)) {
			if (!whole) break;
			const found = membersOf(bytes, ["index", "status", "key"]);
			const { index, status, key } = found.ok ? found.texts : {};
			if (index === undefined || status === undefined || key === undefined)
				throw new CliError(
					`${path} contains lines that are not results of this command. Choose another file with --output.`,
				);
			known.set(`${index} ${JSON.parse(key) as string}`, JSON.parse(status) as string);
			good = end;
		}
		if (statSync(path).size > good) truncateSync(path, good);
	}
	let file: number;
	try {
		const existed = existsSync(path);
		file = openSync(path, "a");
		if (!existed) flushFile(path);
	} catch (error) {
		throw new CliError(`Cannot write results to ${path}: ${(error as Error).message}`);
	}
	const flusher = openFlusher(file);
	return {
		known: (index, key) => known.get(`${index} ${key}`),
		write(result) {
			writeSync(file, lineOf(result));
			flusher.written();
		},
		close: () => flusher.close(),
	};
}

/** Errors of files that cannot be flushed, such as pipes. */
const NOT_FLUSHABLE: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EROFS"]);

/**
 * One flush at a time, and on close: once the service has erased an expired result, this file is
 * the only copy.
 */
function openFlusher(file: number): { written(): void; close(): void } {
	let flushing = false;
	let pending = false;
	let closed = false;
	let failure: NodeJS.ErrnoException | undefined;

	function flush(): void {
		flushing = true;
		pending = false;
		fdatasync(file, (error) => {
			flushing = false;
			// The system reports a failure only once; later flushes would succeed.
			if (error && !NOT_FLUSHABLE.has(error.code ?? "")) failure ??= error;
			if (closed) closeSync(file);
			else if (pending) flush();
		});
	}

	return {
		written() {
			pending = true;
			if (!flushing) flush();
		},
		close() {
			closed = true;
			try {
				fdatasyncSync(file);
			} catch (error) {
				if (!NOT_FLUSHABLE.has((error as NodeJS.ErrnoException).code ?? "")) failure ??= error as NodeJS.ErrnoException;
			}
			// A flush in progress closes the file.
			if (!flushing) closeSync(file);
			if (failure)
				throw new CliError(
					`The results could not be flushed to disk: ${failure.message}. Copy the file before you use it again.`,
					1,
				);
		},
	};
}

/** Payloads keep their text, but on one line: JSON has line ends only between values. */
function lineOf({ index, status, id, output, error, key }: Result): string {
	const members = [
		`"index":${index}`,
		...(id === undefined ? [] : [`"id":${JSON.stringify(id)}`]),
		`"status":${JSON.stringify(status)}`,
		...(output === undefined ? [] : [`"output":${output.replaceAll(/[\r\n]+/g, " ")}`]),
		...(error === undefined ? [] : [`"error":${error}`]),
		`"key":${JSON.stringify(key)}`,
	];
	return `{${members.join(",")}}\n`;
}
