/**
 * The results of `sluice jobs submit --file`: one line for each line of the input, and what a run
 * before this one has already written (D36).
 */
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
import { CliError } from "../command.ts";
import { membersOf } from "../json-members.ts";

/**
 * One line. `index` is the number of the line in the input, from 1; `output` and `error` are JSON
 * texts.
 */
export interface Result {
	index: number;
	/**
	 * The job's state, or `REFUSED` when the line never became a job or its job can no longer be
	 * read.
	 */
	status: string;
	id?: string | undefined;
	output?: string | undefined;
	error?: string | undefined;
	/** Idempotency key. */
	key: string;
}

/** Where results go. */
export interface Results {
	/** The status that an earlier run wrote for this line. */
	known(index: number, key: string): string | undefined;
	write(result: Result): void;
	close(): void;
}

/**
 * Lines of a file as bytes, with the number of bytes read up to the end of each; the last may have
 * no line end.
 */
export async function* linesOf(
	file: string,
): AsyncGenerator<{ bytes: Buffer; end: number; whole: boolean }> {
	let pieces: Buffer[] = [];
	let end = 0;
	for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
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

/** Results on standard output: nothing is known from before. */
export function printedResults(): Results {
	return {
		known: () => undefined,
		write: (result) => void process.stdout.write(lineOf(result)),
		close() {},
	};
}

/**
 * Results in a file, after those of earlier runs; a line that a crash left unfinished is removed.
 * Throws {@link CliError} when the file holds something else.
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
					`${path} holds lines that are no results of this command. Name another file with --output.`,
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
		throw new CliError(`The results cannot be written to ${path}: ${(error as Error).message}`);
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

/** What flushing answers for what is no file on a disk. */
const NO_FLUSH: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EROFS"]);

/**
 * Flushes what is written to a file, one flush at a time, and the rest when it is closed: the
 * service erases a result when its retention ends, and then this file has the only copy. A file
 * that cannot be flushed, such as a pipe, is left to the system.
 */
function openFlusher(file: number): { written(): void; close(): void } {
	let flushing = false;
	let pending = false;
	let closed = false;
	let fault: NodeJS.ErrnoException | undefined;

	function flush(): void {
		flushing = true;
		pending = false;
		fdatasync(file, (error) => {
			flushing = false;
			// The system reports a failure once: a later flush would succeed without what was lost.
			if (error && !NO_FLUSH.has(error.code ?? "")) fault ??= error;
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
				if (!NO_FLUSH.has((error as NodeJS.ErrnoException).code ?? ""))
					fault ??= error as NodeJS.ErrnoException;
			}
			// A flush in flight closes it when it ends.
			if (!flushing) closeSync(file);
			if (fault)
				throw new CliError(
					`The results could not be flushed to the disk: ${fault.message}. Keep a copy of the file before it is used again.`,
					1,
				);
		},
	};
}

/** The texts stand as they came, on one line: outside of strings a line end means nothing. */
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
