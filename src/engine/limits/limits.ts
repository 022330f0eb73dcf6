/**
 * Rate and concurrency limits (spec 8, D24). Each server counts for itself and stores its counts, for
 * the others and for its next start; it admits by its own counts and those last read.
 */
import { WINDOW_MS } from "../../core/rate-window.ts";
import { loop, type Service } from "../../service.ts";
import type { CountRow } from "../../store/contract/limits.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { EngineContext } from "../context.ts";
import { type Admit, Admissions } from "./admission.ts";
import { sumOf } from "./reported-counts.ts";

/**
 * Time between two exchanges of counts, ms. With others alive a request is known to them after at most
 * two of these times: until it is stored, and until they read it.
 */
const ALONE_MS = 1000;
const SHARED_MS = 500;

/** The same while a request waits for the reports of others, ms. */
const URGENT_MS = 100;

/** An exchange is waited for at most this time, ms. */
const LATE_MS = 1000;

export interface Limits {
	admit: Admit;
	/** Reads what was counted before this start. To be done before the first request. */
	recall(): Promise<void>;
	services: readonly Service[];
}

interface Deps extends Pick<EngineContext, "clock" | "now" | "events"> {
	store: Pick<EngineContext["store"], "limits">;
	/** Id of this server, the same after a restart. */
	server: string;
	/** Random, of each start its own. */
	run: string;
	/** Whether other servers are alive. */
	others: () => boolean;
}

export function createLimits({ clock, now, events, store: { limits: store }, server, run, others }: Deps): Limits {
	const admissions = new Admissions(now);
	/** The last reports of other starts, of this server too. */
	let reports: readonly CountRow[] = [];
	/** Version of the counts that are stored. */
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

	/** Waits for at most {@link LATE_MS}: without an answer, what was reported long ago must count no more. */
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
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) events.emit("fault", { where: "exchanging counts of requests", error });
		},
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
		async recall() {
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
