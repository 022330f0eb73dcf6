/**
 * Rules of a background response (D58): it ends once, as its job did; an answer once seen never changes; all readers of
 * its events agree. A number belongs to one event, also of a run that was lost, whose events later readers do not get.
 */
import type { ResponseEventsOp, ResponseReadOp, SeenResponse } from "../history.ts";
import { type Attempt, type JobHistory, mayRepeat } from "./job-history.ts";
import { found, type Found, type JobRule } from "./job-rules.ts";

type Answer = (ResponseReadOp | ResponseEventsOp) & { seen: SeenResponse };

const OPEN: readonly string[] = ["queued", "in_progress"];
const isEnded = ({ seen }: Answer): boolean => !OPEN.includes(seen.status);

/** What a worker's text is a part of. */
export const DELTA = "response.output_text.delta";

function answers({ responseReads, responseEvents }: JobHistory): Answer[] {
	const all = [...responseReads, ...responseEvents].filter((op): op is Answer => op.seen !== undefined);
	return all.toSorted((a, b) => a.from - b.from);
}

/** Each status has one text in all answers, the last event too. */
const kept: JobRule = (job) => {
	const first = new Map<string, Answer>();
	for (const each of answers(job)) {
		const before = first.get(each.seen.status);
		if (before && before.seen.text !== each.seen.text)
			return [found("response-kept", `the response that is ${each.seen.status} has changed`, before, each)];
		if (!before) first.set(each.seen.status, each);
	}
	return [];
};

/** Once, and as its job. */
const ends: JobRule = (job) => {
	const all = answers(job);
	const end = all.find(isEnded);
	if (!end) return [];
	const other = all.find((each) => isEnded(each) && each.seen.status !== end.seen.status);
	if (other) return [found("response-ends", `both ${end.seen.status} and ${other.seen.status}`, end, other)];
	const earliest = all.filter(isEnded).toSorted((a, b) => a.to - b.to)[0]!;
	const again = all.find((each) => !isEnded(each) && each.from > earliest.to);
	if (again) return [found("response-ends", `${again.seen.status} after its end`, earliest, again)];
	const of = job.end();
	const fits = !of || endsOf(of.seen.state).includes(end.seen.status);
	return fits ? [] : [found("response-ends", `${end.seen.status}, though its job is ${of.seen.state}`, of.line, end)];
};

function endsOf(state: string): readonly string[] {
	if (state === "COMPLETED") return ["completed", "failed", "incomplete"];
	return state === "CANCELLED" ? ["cancelled"] : ["failed"];
}

/** Numbers grow, and each is one event for all readers. */
const numbers: JobRule = (job) => {
	const known = new Map<number, { event: string; op: ResponseEventsOp }>();
	for (const op of job.responseEvents) {
		let last = op.after;
		for (const [number, type, text] of op.events) {
			if (number <= last) return [found("response-events", `event ${number} after ${last}`, op)];
			last = number;
			const event = `${type} ${text}`;
			const before = known.get(number);
			if (before && before.event !== event)
				return [found("response-events", `two events have number ${number}`, before.op, op)];
			known.set(number, { event, op });
		}
	}
	return [];
};

/** A read of all events after the end, and the number with which those of the last run begin. */
function complete(job: JobHistory): { all: ResponseEventsOp; begin: number } | undefined {
	const all = job.responseEvents.find(({ after, seen }) => after < 0 && seen !== undefined);
	if (!all) return undefined;
	const begin = all.events.findLast(([, type]) => type === "response.queued")?.[0] ?? 0;
	return { all, begin };
}

/** A reader gets all events of the last run behind the one it names, up to where it stopped, and no others. */
const followed: JobRule = (job) => {
	const { all, begin = 0 } = complete(job) ?? {};
	if (!all) return [];
	const there = new Set(all.events.map(([number]) => number));
	for (const op of job.responseEvents) {
		const seen = new Set(op.events.map(([number]) => number));
		const stopped = op.seen ? Infinity : (op.events.at(-1)?.[0] ?? -1);
		const missed = all.events.find(
			([number]) => number >= begin && number > op.after && number < stopped && !seen.has(number),
		);
		if (missed) return [found("response-events", `a reader missed event ${missed[0]}`, op, all)];
		const foreign = op.events.find(([number]) => number >= begin && !there.has(number));
		if (foreign) return [found("response-events", `event ${foreign[0]} is missing later`, op, all)];
	}
	return [];
};

/** The texts of a stream that has completed are those of the run that ended its job, in their order. */
const deltas: JobRule = (job) => {
	const { all, begin = 0 } = complete(job) ?? {};
	if (all?.seen?.status !== "completed") return [];
	const texts = all.events.flatMap(([number, type, text]) => (type === DELTA && number >= begin ? [text] : []));
	const winners = job.attempts().filter(({ reports }) => reports.some(({ text }) => text === job.end()?.seen.output));
	return winners.length === 1 ? inOrder(job, winners[0]!, texts, all) : [];
};

function inOrder(job: JobHistory, { chunks }: Attempt, texts: readonly string[], all: ResponseEventsOp): Found[] {
	const posted = [...new Set(chunks.map(({ text }) => text))];
	const foreign = texts.find((text) => !posted.includes(text));
	if (foreign) return [found("response-deltas", `the run that ended it did not send ${foreign}`, ...chunks, all)];
	const twice = texts.find((text, at) => texts.indexOf(text) < at && !mayRepeat(job, text));
	if (twice) return [found("response-deltas", `${twice} is there twice`, all)];
	const order = posted.filter((text) => texts.includes(text));
	if (order.join() !== [...new Set(texts)].join())
		return [found("response-deltas", "the texts of a run are in another order", ...chunks, all)];
	const lost = chunks.find(({ result, text }) => result === "ok" && !isLast(text) && !texts.includes(text));
	return lost ? [found("response-deltas", "an acknowledged text is missing", lost, all)] : [];
}

/** What a worker sends with its last event, which is no text. */
export const LAST = ":end";
const isLast = (text: string): boolean => text.endsWith(LAST);

export const RESPONSE_RULES: readonly JobRule[] = [kept, ends, numbers, followed, deltas];
