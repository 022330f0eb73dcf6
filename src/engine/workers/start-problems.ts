/** Why this server starts no workers of an endpoint for a while, or one is missed (D29). */
import type { HeldBack } from "../../core/workers/worker-reason.ts";

/** Written by scaling, read by views. */
export interface StartProblems {
	of(endpoint: string): HeldBack;
	/** Undefined members: the problem is solved. */
	set(endpoint: string, change: HeldBack): void;
}

export function startProblems(): StartProblems {
	const byEndpoint = new Map<string, HeldBack>();
	return {
		of: (endpoint) => byEndpoint.get(endpoint) ?? {},
		set(endpoint, change) {
			const changed = { ...byEndpoint.get(endpoint), ...change };
			if (isHeldBack(changed)) byEndpoint.set(endpoint, changed);
			else byEndpoint.delete(endpoint);
		},
	};
}

export function isHeldBack({ crashing, withoutGpu, preparing, ended }: HeldBack): boolean {
	return [crashing, withoutGpu, preparing, ended].some((each) => each !== undefined);
}
