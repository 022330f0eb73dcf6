/** Errors of the SDK in the log, the first one of each minute: each export fails while a collector does not answer. */
import { diag, type DiagLogger, DiagLogLevel } from "@opentelemetry/api";
import type { Clock } from "../../kernel/system/clock.ts";

/** Time between two reports, ms. */
const REPORT_MS = 60_000;

export function reportErrors(clock: Clock, report: (message: string) => void): void {
	const none = (): void => {};
	let reportedAt = -Infinity;
	const error = (text: string): void => {
		if (clock.now() - reportedAt < REPORT_MS) return;
		reportedAt = clock.now();
		report(messageIn(text));
	};
	const logger: DiagLogger = {
		error,
		warn: error,
		info: none,
		debug: none,
		verbose: none,
	};
	diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

const LONGEST = 200;

/** The SDK writes errors as JSON, with a stack and the answer of the collector. */
function messageIn(text: string): string {
	try {
		const { message, code } = JSON.parse(text) as { message?: string; code?: string };
		return [message, code && `(${code})`].filter(Boolean).join(" ").slice(0, LONGEST);
	} catch {
		return text.split("\n")[0]!.slice(0, LONGEST);
	}
}
