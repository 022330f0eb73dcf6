/** Failures with the same cause, of jobs whose errors differ in numbers, ids and paths only. */
import { firstLine } from "./jobs/job-error.ts";
import type { JobSummary } from "../client/shapes.ts";

export interface ErrorGroup {
	/** The error of all of them, or its form where they differ. */
	message: string;
	/** A text that all of their errors contain, for a search. */
	common: string;
	jobs: readonly JobSummary[];
	/** When the last of them ended, ISO 8601. */
	lastAt: string;
}

/** Characters of an error that are compared. */
const COMPARED = 300;

/** What differs between errors of one cause, and what stands in its place. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
	[/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)]*[^\s"'<>).,:;]/gi, "…"],
	[/(?<![\w<])(?:[A-Za-z]:\\|\.{0,2}\/)[\w.@+~%\\-]+(?:\/[\w.@+~%-]*)*/g, "…"],
	[/\b(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{12,})\b/gi, "…"],
	[/\d+(?:[.,]\d+)*/g, "N"],
];

/** An error without what differs between jobs. */
export function normalized(error: string): string {
	return VARIABLE.reduce((text, [part, place]) => text.replace(part, place), firstLine(error).slice(0, COMPARED));
}

/** The groups, the largest first. */
export function groupsOf(jobs: readonly JobSummary[]): readonly ErrorGroup[] {
	const groups = new Map<string, JobSummary[]>();
	for (const job of jobs) {
		if (job.error === undefined) continue;
		const key = normalized(job.error);
		const group = groups.get(key);
		if (group) group.push(job);
		else groups.set(key, [job]);
	}
	return [...groups]
		.map(([key, members]) => {
			const messages = new Set(members.map(({ error }) => firstLine(error!)));
			return {
				message: messages.size === 1 ? [...messages][0]! : key,
				common: commonOf(key),
				jobs: members,
				lastAt: members.reduce((last, { endedAt = "" }) => (endedAt > last ? endedAt : last), ""),
			};
		})
		.toSorted((a, b) => b.jobs.length - a.jobs.length || (a.lastAt < b.lastAt ? 1 : -1));
}

/** The longest text between what differs. */
function commonOf(normal: string): string {
	const parts = normal.split(/…|N/).map((part) => part.trim());
	return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), "").slice(0, 120);
}
