/** Defines what a search of jobs matches, and how much a page reads (D39). */
import type { Job } from "./job.ts";

/** Maximum number of jobs that a page of a list, or a count, reads from one index. */
export const MOST_READ = 20_000;

/** Bounds of a page of a search: jobs, and bytes of inputs. */
export const MOST_SEARCHED = 5000;
export const MOST_SEARCHED_BYTES = 4 * 1024 * 1024;

export const LONGEST_SEARCH = 200;

/** Characters of an input or an error that are searched, and of an input in a list. */
export const SEARCHED_CHARACTERS = 16_000;
export const PREVIEW_CHARACTERS = 500;

/**
 * Returns a text in the form in which it is compared: lower case (ASCII), and without the space after a member's colon,
 * which clients may write.
 */
export function searchable(text: string): string {
	return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replaceAll('": ', '":');
}

export function isFound(
	{ job, error = "" }: { job: Job; error?: string | undefined },
	{ head, search }: { head: string; search: string },
): boolean {
	const wanted = searchable(search);
	return [job.id, job.worker ?? "", error.slice(0, SEARCHED_CHARACTERS), head].some((text) =>
		searchable(text).includes(wanted),
	);
}
