/** What the metrics of one scrape are read from. Reads of the store are made once, before. */
import type { Engine } from "../../../kernel/engine/engine.ts";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import type { Service } from "../../../kernel/http/exchange/call.ts";
import type { eventCounts } from "../event-counts.ts";
import type { eventLoopDelay } from "../event-loop.ts";

export interface ScrapeSource {
	engine: Engine;
	service: Service;
	/** What the module itself has measured since the start. */
	measured: Measured;
	/** Resolves when rows of the store come too late for the scrape. */
	late: Promise<void>;
}

export interface Measured {
	counts: ReturnType<typeof eventCounts>;
	eventLoopDelay: ReturnType<typeof eventLoopDelay>;
}

export type Scrape = Awaited<ReturnType<typeof scrapeOf>>;

const NO_ROWS = { snapshots: [], waits: new Map<string, number>(), stored: [], standbys: undefined };

/** Rows of the store are missing while it is unavailable, and where they are late. */
export async function scrapeOf({ engine, service, measured, late }: ScrapeSource, sees: (endpoint: string) => boolean) {
	const rows = presentOf(engine).catch((error: unknown) => {
		if (error instanceof StoreUnavailable) return { isStoreUp: false, ...NO_ROWS };
		throw error;
	});
	const unlessLate = <T>(value: Promise<T> | undefined): Promise<T | undefined> =>
		Promise.race([value, late.then(() => undefined)]);
	const [present, files, diskFree] = await Promise.all([
		unlessLate(rows).then((found) => found ?? { isStoreUp: engine.isStoreAvailable(), ...NO_ROWS }),
		// That files of the store were removed is reported by `/readyz`.
		unlessLate(engine.disk?.fileBytes?.().catch(() => undefined)),
		unlessLate(engine.disk?.freeBytes().catch(() => undefined)),
	]);
	return {
		engine,
		service,
		counts: measured.counts,
		sees: (endpoint: string): boolean => engine.endpoints.has(endpoint) && sees(endpoint),
		/** Ids of all endpoints. */
		endpoints: engine.endpoints.all().map(({ endpoint: { id } }) => id),
		...present,
		totals: [...engine.metrics.history.totals()],
		gpus: [...(engine.hooks.gpuTotals?.() ?? [])],
		/** Bytes. */
		files,
		diskFree,
		storeLoad: engine.storeLoad(),
		eventLoop: measured.eventLoopDelay(),
	};
}

async function presentOf({ metrics, isStoreAvailable, standbys: readStandbys }: Engine) {
	const [snapshots, waits, stored, standbys] = await Promise.all([
		metrics.snapshots(),
		metrics.oldestWaits(),
		metrics.stored(),
		readStandbys(),
	]);
	return { isStoreUp: isStoreAvailable(), snapshots, waits, stored, standbys };
}
