/** Why this server starts no workers of an endpoint for a while (D29). */

export interface HeldBack {
	/** Its workers crash. */
	crashing?: string | undefined;
	/** A worker that is needed gets no GPU. */
	withoutGpu?: string | undefined;
}

/** Written by scaling, read by views. */
export interface StartProblems {
	of(endpoint: string): HeldBack;
	/** Undefined: the problem is solved. */
	set(endpoint: string, kind: keyof HeldBack, reason: string | undefined): void;
}

export function startProblems(): StartProblems {
	const byEndpoint = new Map<string, HeldBack>();
	return {
		of: (endpoint) => byEndpoint.get(endpoint) ?? {},
		set(endpoint, kind, reason) {
			const current = byEndpoint.get(endpoint);
			if (current?.[kind] === reason) return;
			const { crashing, withoutGpu }: HeldBack = { ...current, [kind]: reason };
			if (crashing === undefined && withoutGpu === undefined) byEndpoint.delete(endpoint);
			else byEndpoint.set(endpoint, { crashing, withoutGpu });
		},
	};
}
