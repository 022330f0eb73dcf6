/**
 * Rate and concurrency limits (spec 8, D24). Each server stores its counts, for the others and for its next start, and
 * admits by its own and those last read.
 */
import { WINDOW_MS } from "../../core/endpoints/rate-window.ts";
import { loop } from "../../system/loop.ts";
import type { CountRow } from "../../store/contract/cluster.ts";
import { type EngineContext, unlessUnavailable } from "../context.ts";
import { Admissions } from "./admission.ts";
import { sumOf } from "./reported-counts.ts";

/** Time between two exchanges of counts. Others know a request after at most two of these times. */
const ALONE_MS = 1000;
const SHARED_MS = 500;

/** The same while a request waits for the reports of others. */
const URGENT_MS = 100;

/** An exchange is waited for at most this time, ms. */
const LATE_MS = 1000;

interface Deps extends EngineContext {
	/** The same after a restart. */
	server: string;
	/** Random at each start. */
	run: string;
	others: () => boolean;
}

export type Limits = ReturnType<typeof createLimits>;

export function createLimits({ clock, now, events, store: { limits: store }, server, run, others }: Deps) {
	const admissions = new Admissions(now);
	/** Last reports of other starts, of this server too. */
	let reports: readonly CountRow[] = [];
	let stored = 0;
	let exchanging: Promise<void> | undefined;
	let exchangedAt = -Infinity;

	function takeReports(): void {
		const at = now();
		reports = reports.filter((row) => row.run !== run && row.at > at - WINDOW_MS);
		admissions.reported(sumOf(reports, { server, now: at }));
	}

	async function exchange(): Promise<void> {
		const { version } = admissions;
		if (version !== stored || (others() && admissions.isRunning)) {
			await store.put({ run, server, ...admissions.report() });
			stored = version;
		}
		if (others() || reports.length > 0) reports = await store.list({ after: now() - WINDOW_MS });
	}

	/** What was reported long ago must count no more if there is no answer in time. */
	async function exchangeInTime(): Promise<void> {
		exchanging ??= exchange().finally(() => (exchanging = undefined));
		const answered = new AbortController();
		try {
			await Promise.race([exchanging, clock.sleep(LATE_MS, answered.signal)]);
		} finally {
			answered.abort();
			takeReports();
		}
	}

	const exchanges = loop({
		clock,
		retryMs: ALONE_MS,
		onError: unlessUnavailable({ events }, "exchanging counts of requests"),
		step: async () => {
			const early = exchangedAt + URGENT_MS - clock.now();
			if (early > 0) return early;
			exchangedAt = clock.now();
			await exchangeInTime();
			return admissions.isWaiting ? URGENT_MS : others() ? SHARED_MS : ALONE_MS;
		},
	});
	admissions.onUrgent = () => {
		if (others()) exchanges.nudge();
	};

	return {
		admit: admissions.admit,
		/** Must be done before the first request. */
		async recall(): Promise<void> {
			reports = await store.list({ after: now() - WINDOW_MS });
			takeReports();
			await store.expire({ until: now() - WINDOW_MS });
		},
		services: [
			{
				start: exchanges.start,
				async stop() {
					await exchanges.stop();
					await exchangeInTime().catch(() => {});
					// What still waits for the others is decided here.
					reports = [];
					takeReports();
				},
			},
		],
	};
}
