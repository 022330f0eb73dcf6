export interface Preset {
	/** What it is for, in a few words. */
	title: string;
	/** The mapping that the preset stands for. The setting `http` is merged over it. */
	settings: Readonly<Record<string, unknown>>;
}

/** Concurrency of servers that work on many requests at a time, and queue what they cannot begin yet. */
export const MANY = 32;
