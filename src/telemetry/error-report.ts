/** Errors of the SDK in the log, the first one of each minute: each export fails while a collector does not answer. */
import { diag, type DiagLogger, DiagLogLevel } from "@opentelemetry/api";
import type { Clock } from "../system/clock.ts";

/** Time between two reports, ms. */
const REPORT_MS = 60_000;

export function reportErrors(clock: Clock, report: (message: string) => void): void {
	const none = (): void => {};
	let reportedAt = -Infinity;
	const logger: DiagLogger = {
		error(message) {
			if (clock.now() - reportedAt < REPORT_MS) return;
			reportedAt = clock.now();
			report(message);
		},
		warn: none,
		info: none,
		debug: none,
		verbose: none,
	};
	diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}
