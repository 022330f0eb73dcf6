/**
 * `sluice/worker` as handlers under `sluice dev` see it: the kit itself, which also knows whether
 * it was started.
 */
import { start as startWorker } from "../../worker/index.ts";
import type { StartOptions } from "../../worker/index.ts";

export * from "../../worker/index.ts";

let begun = false;

/** As the kit's own. */
export function start<Input = any, Output = any>(
	options: StartOptions<Input, Output>,
): Promise<void> {
	begun = true;
	return startWorker(options);
}

/** Whether the handler's file has called {@link start} itself. */
export function wasStarted(): boolean {
	return begun;
}
