/** Why this server starts no workers of an endpoint for a while, or one is missed (D29). */
import type { HeldBack } from "../../core/workers/worker-reason.ts";

export type StartProblems = ReturnType<typeof startProblems>;

export function startProblems() {
	const byEndpoint = new Map<string, HeldBack>();
	return {
		of: (endpoint: string): HeldBack => byEndpoint.get(endpoint) ?? {},
		/** Undefined members of a change: the problem is solved. */
		set(endpoint: string, change: HeldBack): void {
			const changed = { ...byEndpoint.get(endpoint), ...change };
			if (isHeldBack(changed)) byEndpoint.set(endpoint, changed);
			else byEndpoint.delete(endpoint);
		},
	};
}

export function isHeldBack({ crashing, withoutGpu, preparing, ended }: HeldBack): boolean {
	return [crashing, withoutGpu, preparing, ended].some((each) => each !== undefined);
}
