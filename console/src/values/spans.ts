/** The time of a job in spans without gaps: waits, and the runs of its attempts. */
import type { JobDetail } from "../client/shapes.ts";

export interface Span {
	kind: "wait" | "run";
	/** Ms since the epoch. */
	from: number;
	ms: number;
	/** Of a run. */
	attempt: number;
	/** How a run ended. */
	end: string;
}

export type JobTimes = Pick<JobDetail, "submittedAt" | "endedAt"> & {
	readonly attempts: Readonly<JobDetail["attempts"]>;
};

/** From the submission to the end, or to `now`. */
export function spansOf({ submittedAt, endedAt, attempts }: JobTimes, now: number): readonly Span[] {
	const at = (text: string): number => new Date(text).getTime();
	const last = endedAt === undefined ? now : at(endedAt);
	const spans: Span[] = [];
	let from = at(submittedAt);
	const until = (to: number, rest: Pick<Span, "kind" | "attempt" | "end">): void => {
		const end = Math.min(Math.max(to, from), Math.max(last, from));
		if (end > from) spans.push({ ...rest, from, ms: end - from });
		from = end;
	};
	for (const { attempt, startedAt, endedAt: over, end } of attempts) {
		until(at(startedAt), { kind: "wait", attempt, end: "" });
		until(over === undefined ? last : at(over), { kind: "run", attempt, end });
	}
	until(last, { kind: "wait", attempt: 0, end: "" });
	return spans;
}
