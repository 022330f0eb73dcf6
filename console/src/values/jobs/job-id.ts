/** Ids of jobs, as people paste them (D6). */

/** The end of an id that a text is, as lists show it with a `…` before; undefined when it is none or a whole one. */
export function jobEndOf(text: string): string | undefined {
	const end = /^\s*…?([0-9a-f-]{6,35})\s*$/i.exec(text)?.[1]?.toLowerCase();
	return end === undefined || jobIdOf(text) !== undefined ? undefined : end;
}

/** The job id that a text is, such as one copied from a log; undefined when it is none. */
export function jobIdOf(text: string): string | undefined {
	return /^\s*((?:sync-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$/i.exec(text)?.[1]?.toLowerCase();
}
