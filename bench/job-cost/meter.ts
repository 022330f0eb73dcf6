/** What a store did between two moments. */

/** Numbers by name, in groups. */
export interface Figures {
	[name: string]: number | Figures;
}

export interface Meter {
	/** Resolves with the end of the measurement, which resolves with totals. */
	begin(): Promise<() => Promise<Figures>>;
}

/** Each number divided. */
export function divided(figures: Figures, by: number): Figures {
	return Object.fromEntries(
		Object.entries(figures).map(([name, value]) => [name, typeof value === "number" ? value / by : divided(value, by)]),
	);
}
