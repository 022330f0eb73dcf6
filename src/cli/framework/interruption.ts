import { CliError } from "../client/errors.ts";

/** Exit code of a program that Ctrl-C ends. */
const INTERRUPTED = 130;

/**
 * The signal aborts at the first Ctrl-C, with a {@link CliError} of this sentence as its reason; the second ends the
 * process, as each does after `end`.
 */
export function interruption(sentence: string): { signal: AbortSignal; end(): void } {
	const controller = new AbortController();
	const stop = (): void => controller.abort(new CliError(sentence, INTERRUPTED));
	const names = ["SIGINT", "SIGTERM"] as const;
	for (const name of names) process.once(name, stop);
	return {
		signal: controller.signal,
		end() {
			for (const name of names) process.off(name, stop);
		},
	};
}
