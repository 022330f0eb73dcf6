/** What a server counts of its requests (D40). */

export type Traffic = ReturnType<typeof traffic>;

/** `codes`: those of errors, counted from the start. */
export function traffic(codes: readonly string[]) {
	/** Requests by operation of the API, and errors by code. */
	const inFlight = new Map<string, number>();
	const refusals = new Map<string, number>(codes.map((code) => [code, 0]));
	const add = (counts: Map<string, number>, name: string, amount: number): void =>
		void counts.set(name, (counts.get(name) ?? 0) + amount);
	return {
		inFlight,
		refusals,
		begun: (operation: string): void => add(inFlight, operation, 1),
		ended: (operation: string): void => add(inFlight, operation, -1),
		refused: (code: string): void => add(refusals, code, 1),
	};
}
