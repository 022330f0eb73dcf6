/** Tallies as lines: what adds up, of what the most stays, and what is not known. */
import { expect, it } from "vitest";
import { observe, sizeOfHistogram } from "../../lib/histogram.ts";
import { seriesOf } from "./series.ts";
import {
	addMetricBucket,
	countOfRelease,
	isEmpty,
	type MetricBucket,
	metricBucketText,
	MINUTE_MS,
	newMetricBucket,
	readMetricBucket,
} from "./metric-buckets.ts";

function tallyOf(completed: number, queued: number, ...delays: number[]): MetricBucket {
	const bucket = newMetricBucket();
	bucket.counts.completed = completed;
	bucket.most.queued = queued;
	for (const ms of delays) observe(bucket.delay, ms);
	return bucket;
}

it("buckets of one minute add up, of what goes up and down the most stays", () => {
	const [one, other] = [tallyOf(2, 7, 100, 100), tallyOf(3, 4, 100, 10_000)];
	const series = seriesOf({
		from: 0,
		to: MINUTE_MS,
		step: MINUTE_MS,
		known: new Set([0]),
		buckets: [
			{ at: 0, bucket: one },
			{ at: 0, bucket: readMetricBucket(metricBucketText(other)) },
		],
	});
	expect(series).toMatchObject({
		completed: [5],
		queued: [7],
		failed: [0],
		executionMs: { p50: [null] },
	});
	expect(series.delayMs.p50[0]).toBeCloseTo(100, -1);
	expect(series.delayMs.p99[0]! / 10_000).toBeCloseTo(1, 1);
	expect(one.counts.completed).toBe(2);
});

it("a minute in which a server looked and nothing happened is 0, one without a server is not known", () => {
	const series = seriesOf({
		from: 0,
		to: 3 * MINUTE_MS,
		step: MINUTE_MS,
		known: new Set([MINUTE_MS]),
		buckets: [{ at: 2 * MINUTE_MS, bucket: tallyOf(1, 0) }],
	});
	expect([series.completed, series.queued, series.delayMs.p95]).toEqual([
		[null, 0, 1],
		[null, 0, 0],
		[null, null, null],
	]);
});

it("a text of a version that counted less reads as zeros", () => {
	expect(readMetricBucket("[[4]]")).toEqual({
		...newMetricBucket(),
		counts: { ...newMetricBucket().counts, submitted: 4 },
	});
	expect([isEmpty(readMetricBucket("[]")), isEmpty(tallyOf(0, 0, 5)), isEmpty(tallyOf(0, 1))]).toEqual([
		true,
		false,
		false,
	]);
});

it("D40: a bucket has completed and failed jobs of the four newest releases, also stored and added", () => {
	const bucket = newMetricBucket();
	for (const release of [3, 1, 2]) {
		countOfRelease(bucket, { release, outcome: "completed", ranMs: 100 });
		countOfRelease(bucket, { release, outcome: "failed", ranMs: 100 });
		countOfRelease(bucket, { release, outcome: "timedOut" });
		countOfRelease(bucket, { release, outcome: "cancelled" });
	}
	const sum = readMetricBucket(metricBucketText(bucket));
	addMetricBucket(sum, bucket);
	const counted = ({ releases }: MetricBucket) =>
		[...releases].map(([version, { completed, failed, execution }]) => [
			version,
			completed,
			failed,
			sizeOfHistogram(execution),
		]);
	expect(counted(sum)).toEqual([
		[3, 2, 4, 4],
		[1, 2, 4, 4],
		[2, 2, 4, 4],
	]);
	countOfRelease(sum, { release: 9, outcome: "completed" });
	countOfRelease(bucket, { release: 7, outcome: "failed" });
	countOfRelease(bucket, { release: 8, outcome: "cancelled" });
	addMetricBucket(bucket, sum);
	expect(counted(bucket).toSorted(([one], [other]) => one! - other!)).toEqual([
		[2, 3, 6, 6],
		[3, 3, 6, 6],
		[7, 0, 1, 0],
		[9, 1, 0, 0],
	]);
});
