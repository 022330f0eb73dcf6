/** Runs a whole worker against a scripted service, in this process. */
import { systemClock } from "../../../packages/worker/src/clock.ts";
import type { StartOptions } from "../../../packages/worker/src/types.ts";
import { runWorker } from "../../../packages/worker/src/worker.ts";
import type { ScriptedService } from "./scripted-service.ts";

/** A worker under test. */
export interface RunningWorker {
	/** Resolves when the worker has stopped. */
	readonly done: Promise<void>;
	readonly lines: string[];
	/** Stops it gracefully and waits for the end. */
	stop(): Promise<void>;
}

/** Starts a worker with the service's environment; `env` adds to it. */
export function startWorker(
	service: ScriptedService,
	options: StartOptions,
	env: Record<string, string> = {},
): RunningWorker {
	const lines: string[] = [];
	const stopping = new AbortController();
	const done = runWorker(
		{ ...options, env: service.env(env), signal: stopping.signal },
		{
			clock: systemClock,
			random: () => 0.5,
			argv: [],
			cwd: "/",
			write: (line) => lines.push(line),
			fail: () => {},
		},
	);
	return {
		done,
		lines,
		async stop() {
			stopping.abort();
			await done;
		},
	};
}
