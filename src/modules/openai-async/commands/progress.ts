/** How far a batch is, in words. */
import type { BatchObject, BatchStatus } from "../routes.ts";
import { type Pace, timeText } from "../../../cli/framework/progress-bar.ts";

/** Time that the rate is an average of: workers come and leave, and answers are gathered in groups. */
const RATE_MS = 600_000;
const RATE_AFTER_MS = 2000;

const ENDED: readonly BatchStatus[] = ["failed", "completed", "expired", "cancelled"];

export function isEnded({ status }: BatchObject): boolean {
	return ENDED.includes(status);
}

/** Seconds since 1970. Null while it is open. */
export function endOf(batch: BatchObject): number | null {
	return batch.completed_at ?? batch.expired_at ?? batch.cancelled_at ?? batch.failed_at;
}

/** Such as `812/1000`. Undefined while the lines are not counted. */
export function doneText({ request_counts: counts }: BatchObject): string | undefined {
	return counts.total === 0 ? undefined : `${doneOf(counts)}/${counts.total}`;
}

/** Such as `1.2M in, 300K out`. Undefined without any. */
export function tokensText({ usage }: BatchObject): string | undefined {
	const { input_tokens: sent, output_tokens: received } = usage;
	return sent + received === 0 ? undefined : `${shortCount(sent)} in, ${shortCount(received)} out`;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Such as `950`, `12.3K`, `1.2M`. */
export function shortCount(count: number): string {
	return COMPACT.format(count);
}

/** What a progress bar shows. `wall`: the time of day, ms. */
export function progressOf(batch: BatchObject, pace: Pace | undefined, wall: number) {
	const { status, request_counts: counts, created_at: createdAt } = batch;
	const done = doneText(batch);
	const tokens = tokensText(batch);
	const parts = [
		status === "in_progress" ? undefined : status,
		done && `${done} done`,
		counts.failed > 0 ? `${counts.failed} failed` : undefined,
		tokens && `tokens ${tokens}`,
		`after ${timeText(wall - createdAt * 1000)}`,
	];
	return {
		share: counts.total === 0 ? undefined : doneOf(counts) / counts.total,
		count: 0,
		pace,
		text: parts.filter((part) => part !== undefined).join(", "),
	};
}

/** Estimates the pace of one batch by what is seen of it. `at`: a monotonic time, ms. */
export function paceMeter(): (at: number, batch: BatchObject) => Pace | undefined {
	let seen: { at: number; done: number }[] = [];
	return (at, { request_counts: counts }) => {
		if (counts.total === 0) return undefined;
		const done = doneOf(counts);
		seen = [...seen.filter((each) => at - each.at <= RATE_MS), { at, done }];
		const first = seen[0]!;
		if (at - first.at < RATE_AFTER_MS) return undefined;
		const perSecond = ((done - first.done) * 1000) / (at - first.at);
		const left = counts.total - done;
		return { perSecond, leftMs: perSecond > 0 && left > 0 ? (left * 1000) / perSecond : undefined };
	};
}

function doneOf({ completed, failed }: BatchObject["request_counts"]): number {
	return completed + failed;
}
