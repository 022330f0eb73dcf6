/** `sluice/worker` under `sluice dev`, which records whether `start` was called. */
import { start as startWorker, type StartOptions } from "sluice/worker";

export * from "sluice/worker";

let started = false;

export function start<Input = any, Output = any>(options: StartOptions<Input, Output>): Promise<void> {
	started = true;
	return startWorker(options);
}

export function wasStarted(): boolean {
	return started;
}
