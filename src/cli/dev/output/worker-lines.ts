/** Worker output of `sluice dev` without the SDKs' debugging. */
import { printable, printableLines } from "../../../kernel/lib/terminal-text.ts";

const SDK_MESSAGE = /^(?:Started|Finished|Stopped)\.$|^Jobs in (?:queue|progress): \d+$/;

/** The end of the job shows the same exception. */
const SDK_EXCEPTION = /^(?:The handler failed: |Captured Handler Exception$|\{[^]*"error_traceback")/;

/** Debugging of an SDK, and what Node prints around the place and the message of an error. */
const NOISE = /^(?:DEBUG\s*\| |\s+at (?:[^(]* \()?node:|Node\.js v\d)/;

/** A line of output (protocol B.9). Undefined if only `--verbose` shows it. */
export function workerLine(
	text: string,
	{ verbose, colours }: { verbose: boolean; colours: boolean },
): string | undefined {
	const line = sdkLine(text);
	if (!line) {
		if (!verbose && (text.trim() === "" || NOISE.test(text))) return undefined;
		return `worker | ${printableLines(text, { colours })}`;
	}
	const { job, message, level } = line;
	const isException = level === "ERROR" && job !== undefined && SDK_EXCEPTION.test(message);
	if (!verbose && (level === "DEBUG" || SDK_MESSAGE.test(message) || isException)) return undefined;
	const about = job === undefined ? "" : `${job} `;
	return `worker | ${level.padEnd(5)} ${about}${message.split("\n").map(printable).join("\n       | ")}`;
}

function sdkLine(text: string): { job: string | undefined; message: string; level: string } | undefined {
	if (!text.startsWith("{")) return undefined;
	try {
		const { requestId, message, level } = JSON.parse(text) as Record<string, unknown>;
		if (typeof message !== "string" || typeof level !== "string") return undefined;
		return { job: typeof requestId === "string" ? requestId : undefined, message, level };
	} catch {
		return undefined;
	}
}
