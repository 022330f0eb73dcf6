/** RunPod's synchronous Python SDK, scripted, at the endpoint of the test. */
import { KEY } from "../support/service.ts";
import { stepping } from "./arrivals.ts";
import { b, open } from "./endpoint.ts";
import { type PythonEndpoint, pythonSync, type PythonSyncOptions } from "./python-sync-client.ts";

/** A client of the endpoint whose pauses are these steps. */
export function client({
	steps = [],
	...q
}: Partial<PythonSyncOptions> & { steps?: (() => unknown)[] } = {}): PythonEndpoint & {
	slept: readonly number[];
} {
	const { pause, slept } = stepping(...steps);
	const made = pythonSync({
		base: `${b.url}/sdk/v2`,
		endpoint: b.ep,
		key: KEY,
		clock: b.clock,
		pause,
		...q,
	});
	open.push(made);
	return { ...made, slept };
}

export const nothing = (): void => {};
export const times = (count: number, step: () => unknown = nothing): (() => unknown)[] =>
	Array.from({ length: count }, () => step);
