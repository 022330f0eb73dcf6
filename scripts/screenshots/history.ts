/**
 * An hour of history for the pictures of the console, written to the store before its service
 * starts: a picture should not take an hour. The numbers are made up, and the same each time.
 */
import { systemClock } from "../../src/kernel/system/clock.ts";
import { observe } from "../../src/kernel/lib/histogram.ts";
import {
	type MetricBucket,
	metricBucketText,
	MINUTE_MS,
	newMetricBucket,
} from "../../src/kernel/core/metrics/metric-buckets.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";

const MINUTES = 60;

/** How busy an endpoint is: jobs in a minute, how long one runs, how many fail. */
interface Load {
	jobs: number;
	runMs: number;
	failing: number;
	/** Moves its waves. */
	phase: number;
}

const LOADS: Readonly<Record<string, Load>> = {
	thumbnail: { jobs: 46, runMs: 90, failing: 0.03, phase: 0 },
	ocr: { jobs: 14, runMs: 2300, failing: 0.01, phase: 2 },
	openai: { jobs: 24, runMs: 1500, failing: 0, phase: 4 },
};

/** Between 0 and 1, the same for the same number. */
function noise(seed: number): number {
	const wave = Math.sin(seed * 12.9898) * 43758.5453;
	return wave - Math.floor(wave);
}

function minute({ jobs, runMs, failing, phase }: Load, index: number): MetricBucket {
	const tally = newMetricBucket();
	const tide = 0.6 + 0.4 * Math.sin(index / 7 + phase);
	const rush = index > 38 && index < 44 ? 2.1 : 1;
	const ended = Math.round(jobs * tide * rush * (0.8 + 0.4 * noise(index + phase * 100)));
	const failed = Math.round(ended * failing * 2 * noise(index * 3 + phase));
	const busy = Math.min(3, Math.ceil((ended * runMs) / MINUTE_MS + tide));
	Object.assign(tally.counts, {
		submitted: ended,
		completed: ended - failed,
		failed,
		cancelled: index % 19 === 7 ? 1 : 0,
		coldStarts: index % 23 === 4 || index === 39 ? 1 : 0,
	});
	Object.assign(tally.most, {
		queued: Math.round((rush - 1) * 14 + 3 * tide * noise(index)),
		running: busy,
		workersReady: 3 - busy,
		workersBusy: busy,
		workersStarting: index % 23 === 4 || index === 39 ? 1 : 0,
	});
	for (let job = 0; job < ended; job += 1) {
		const luck = (job + 0.5) / ended;
		observe(tally.delay, 14 + tide * 40 * luck ** 2 + (rush - 1) * 700 * luck + 60 * luck ** 16);
		observe(
			tally.execution,
			runMs * (0.55 + 0.2 * tide + 0.5 * luck + (0.5 + 0.6 * noise(index * 5 + phase)) * luck ** 12),
		);
	}
	return tally;
}

/** Writes the hour before now. `path` is that of the store's file. */
export async function writeHistory(path: string): Promise<void> {
	const store = await openSqlite({ path });
	const present = Math.floor(systemClock.now() / MINUTE_MS) * MINUTE_MS;
	const rows = Array.from({ length: MINUTES }, (_, index) => {
		const row = {
			step: MINUTE_MS,
			at: present - (MINUTES - index) * MINUTE_MS,
			source: "pictures",
		};
		return [
			{ ...row, endpoint: "", tally: "[]" },
			...Object.entries(LOADS).map(([endpoint, load]) => ({
				...row,
				endpoint,
				tally: metricBucketText(minute(load, index)),
			})),
		];
	});
	await store.metrics.put({ rows: rows.flat() });
	await store.close();
}
