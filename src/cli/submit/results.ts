/** Resumable results of `sluice jobs submit --file`, a JSON line per input line (D36). */
import { closeSync, existsSync, fdatasync, fdatasyncSync, openSync, statSync, truncateSync, writeSync } from "node:fs";
import { flushFile } from "../../kernel/system/durable-file.ts";
import { CliError } from "../client/errors.ts";
import { parseJson } from "../client/service-client.ts";
import { exceptionOf } from "../commands/jobs/job-text.ts";
import { membersOf } from "../framework/json-members.ts";
import { linesOf } from "../framework/lines.ts";

export interface Result {
	index: number;
	/** The job's state, or `REFUSED` if it was rejected or cannot be read any more. */
	status: string;
	id?: string | undefined;
	output?: string | undefined;
	error?: string | undefined;
	key: string;
}

export type Results = Awaited<ReturnType<typeof fileResults>>;

export function printedResults(): Results {
	return { known: () => undefined, write: (result) => void process.stdout.write(lineOf(result)), close: () => {} };
}

/** Appends, after removal of an incomplete last line. Throws {@link CliError} for other content. */
export async function fileResults(path: string) {
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
	const file = openResults(path);
	const flusher = openFlusher(file);
	return {
		known: (index: number, key: string): string | undefined => known.get(`${index} ${key}`),
		write(result: Result): void {
			writeSync(file, lineOf(result));
			flusher.written();
		},
		close: flusher.close,
	};
}

function openResults(path: string): number {
	try {
		const existed = existsSync(path);
		const file = openSync(path, "a");
		if (!existed) flushFile(path);
		return file;
	} catch (error) {
		throw new CliError(`Cannot write results to ${path}: ${(error as Error).message}`);
	}
}

/** Files that cannot be flushed, such as pipes. */
const NOT_FLUSHABLE: ReadonlySet<string> = new Set(["EINVAL", "ENOTSUP", "EROFS"]);

/** Once the service has erased an expired result, this file is the only copy, so it is flushed. */
function openFlusher(file: number) {
	let flushing = false;
	let pending = false;
	let closed = false;
	let failure: NodeJS.ErrnoException | undefined;

	/** The system reports a failure only once, and later flushes would succeed. */
	function failed(error: NodeJS.ErrnoException): void {
		if (!NOT_FLUSHABLE.has(error.code ?? "")) failure ??= error;
	}

	function flush(): void {
		flushing = true;
		pending = false;
		fdatasync(file, (error) => {
			flushing = false;
			if (error) failed(error);
			if (closed) closeSync(file);
			else if (pending) flush();
		});
	}

	return {
		written(): void {
			pending = true;
			if (!flushing) flush();
		},
		close(): void {
			closed = true;
			try {
				fdatasyncSync(file);
			} catch (error) {
				failed(error as NodeJS.ErrnoException);
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

function lineOf({ index, status, id, output, error, key }: Result): string {
	const members = {
		index: String(index),
		id: id && JSON.stringify(id),
		status: JSON.stringify(status),
		output: output && onOneLine(output),
		error,
		...errorMembers(error),
		key: JSON.stringify(key),
	};
	const texts = Object.entries(members).filter(([, text]) => text !== undefined);
	return `{${texts.map(([name, text]) => `"${name}":${text}`).join(",")}}\n`;
}

/** `errorType` and `errorMessage` of an SDK's exception, which is JSON within the text. */
function errorMembers(error: string | undefined): Record<string, string | undefined> {
	const { type, message } = error === undefined ? {} : exceptionOf(String(parseJson(error)));
	return { errorType: type && JSON.stringify(type), errorMessage: message && JSON.stringify(message) };
}

/** Line ends are only between values. */
export function onOneLine(json: string): string {
	return json.replaceAll(/[\r\n]+/g, " ");
}
