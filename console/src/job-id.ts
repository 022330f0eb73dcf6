/** Ids of jobs, as people paste them (D6). */

/** The job id that a text is, such as one copied from a log; undefined when it is none. */
export function jobIdOf(text: string): string | undefined {
	return /^\s*((?:sync-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$/i.exec(text)?.[1]?.toLowerCase();
}
