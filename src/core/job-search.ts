/** What a search of jobs finds, and how much a page of it reads (D39). */
import type { Job } from "./job.ts";

/** Maximum number of jobs that a page of a list, or a count, reads from one index. */
export const MOST_READ = 20_000;

/** Maximum number of jobs that a page of a search reads, and bytes of inputs. */
export const MOST_SEARCHED = 5000;
export const MOST_SEARCHED_BYTES = 4 * 1024 * 1024;

/** Characters of the text to be found. */
export const LONGEST_SEARCH = 200;

/** Characters of an input or an error that are searched, and of an input that a list contains. */
export const SEARCHED_CHARACTERS = 16_000;
export const PREVIEW_CHARACTERS = 500;

/**
 * The form in which texts are compared: ASCII letters in lower case, and no space after the colon
 * of a JSON member, which the client may or may not have written.
 */
export function searchable(text: string): string {
	return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).replaceAll('": ', '":');
}

/** Whether a search finds a job whose input begins so. */
export function isFound(
	{ job, error = "" }: { job: Job; error?: string | undefined },
	{ head, search }: { head: string; search: string },
): boolean {
	const wanted = searchable(search);
	return [job.id, job.worker ?? "", error.slice(0, SEARCHED_CHARACTERS), head].some((text) =>
		searchable(text).includes(wanted),
	);
}
