/**
 * The loop that keeps metrics: what waits while the store is unavailable, who reads, and what is removed by age.
 */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { HOUR_MS, MINUTE_MS, readMetricBucket, METRICS_KEPT_MS } from "../../core/metrics/metric-buckets.ts";
import { eventBus } from "../../events.ts";
import type { MetricsRow } from "../../store/contract/records.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { MetricHistory } from "./metric-history.ts";

const T0 = 500_000 * HOUR_MS;

const keyOf = ({ endpoint, step, at }: MetricsRow): string => `${endpoint} ${step} ${at}`;

function bed() {
	const clock = manualClock(T0);
	const events = eventBus();
	const faults: unknown[] = [];
	events.on("fault", ({ error }) => faults.push(error));
	const place = {
		clock,
		events,
		faults,
		unavailable: false,
		leads: true,
		looks: 0,
		known: true,
		rows: [] as MetricsRow[],
		expired: [] as { step: number; before: number }[],
	};
	const keeping = new MetricHistory(
		given({
			clock,
			events,
			now: clock.now,
			run: "s",
			endpoints: { has: () => place.known },
			cluster: { leads: () => place.leads },
			snapshots: async () => {
				place.looks += 1;
				return [];
			},
			store: {
				metrics: {
					async put({ rows }) {
						if (place.unavailable) throw new StoreUnavailable("unreachable", "refused");
						const keys = new Set(rows.map(keyOf));
						place.rows = [...place.rows.filter((row) => !keys.has(keyOf(row))), ...rows];
					},
					read: async ({ step, from, to }) =>
						place.rows.filter((row) => row.endpoint === "ep" && row.step === step && row.at >= from && row.at < to),
					async expire(q) {
						place.expired.push(q);
						return 0;
					},
				},
			},
		}),
	);
	keeping.service.start();
	/** Submissions by minute, as far as written. */
	const submitted = (): [number, number][] =>
		place.rows
			.filter(({ endpoint, step }) => endpoint === "ep" && step === MINUTE_MS)
			.map(({ at, tally }) => [(at - T0) / MINUTE_MS, readMetricBucket(tally).counts.submitted]);
	return {
		place,
		keeping,
		submitted,
		submit: () => events.emit("job.queued", { endpoint: "ep", id: "j" }),
	};
}

it("minutes are written when the store is back, each alone, and the wait is not reported", async () => {
	const { place, keeping, submitted, submit } = bed();
	place.unavailable = true;
	for (let minute = 0; minute < 3; minute += 1) {
		submit();
		await place.clock.advance(MINUTE_MS);
	}
	expect([submitted(), place.faults]).toEqual([[], []]);
	place.unavailable = false;
	await place.clock.advance(5000);
	expect(submitted()).toEqual([
		[0, 1],
		[1, 1],
		[2, 1],
	]);
	await keeping.service.stop();
	expect(submitted()).toHaveLength(3);
});

it("of several servers one looks and removes what is old; each writes its own", async () => {
	const { place, keeping, submitted, submit } = bed();
	await place.clock.advance(0);
	place.leads = false;
	const { looks } = place;
	submit();
	await place.clock.advance(MINUTE_MS);
	expect([place.looks, place.expired, submitted()]).toEqual([looks, [], [[0, 1]]]);
	place.leads = true;
	await place.clock.advance(MINUTE_MS);
	expect(place.looks).toBeGreaterThan(looks + 10);
	expect(place.expired).toEqual(
		[MINUTE_MS, HOUR_MS].map((step) => ({
			step,
			before: T0 + 2 * MINUTE_MS - METRICS_KEPT_MS[step as typeof MINUTE_MS] - step,
			limit: 500,
		})),
	);
	await keeping.service.stop();
});

it("what was counted of an endpoint that is known no more is not written", async () => {
	const { place, keeping, submitted, submit } = bed();
	submit();
	place.known = false;
	await place.clock.advance(MINUTE_MS);
	await keeping.service.stop();
	expect(submitted()).toEqual([]);
	expect(place.rows.some(({ endpoint }) => endpoint === "")).toBe(true);
});

it("D40: jobs by release, of minutes for a day and of hours before; none of workers started elsewhere", async () => {
	const { place, keeping } = bed();
	const settle = (state: "COMPLETED" | "FAILED" | "TIMED_OUT", more: object = {}): void =>
		place.events.emit("job.settled", { endpoint: "ep", id: "j", state, ...more });
	const jobs = async (from: number, to: number) =>
		[...(await keeping.byRelease({ endpoint: "ep", from, to }))].map(([version, { completed, failed, execution }]) => [
			version,
			completed,
			failed,
			execution.sum,
		]);
	settle("COMPLETED", { release: 1, ranMs: 40 });
	settle("FAILED", { release: 1, elsewhere: true });
	settle("COMPLETED", { ranMs: 40 });
	await place.clock.advance(MINUTE_MS);
	settle("TIMED_OUT", { release: 1 });
	settle("FAILED", { release: 2, ranMs: 20 });
	expect(await jobs(T0, T0 + HOUR_MS)).toEqual([
		[1, 1, 1, 40],
		[2, 0, 1, 20],
	]);
	expect(await jobs(T0 + MINUTE_MS, T0 + HOUR_MS)).toEqual([
		[1, 0, 1, 0],
		[2, 0, 1, 20],
	]);
	expect(await jobs(T0, T0 + MINUTE_MS)).toEqual([[1, 1, 0, 40]]);
	await place.clock.advance(24 * HOUR_MS + 2 * MINUTE_MS);
	place.rows = place.rows.filter(({ step }) => step === HOUR_MS);
	expect(await jobs(T0, T0 + HOUR_MS)).toEqual([
		[1, 1, 1, 40],
		[2, 0, 1, 20],
	]);
	expect(await jobs(T0 + HOUR_MS, T0 + 2 * HOUR_MS)).toEqual([]);
	await keeping.service.stop();
});
