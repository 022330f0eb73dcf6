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
}

export interface Measured {
	counts: ReturnType<typeof eventCounts>;
	eventLoopDelay: ReturnType<typeof eventLoopDelay>;
}

export type Scrape = Awaited<ReturnType<typeof scrapeOf>>;

/** Rows of the store are missing while it is unavailable. */
export async function scrapeOf({ engine, service, measured }: ScrapeSource, sees: (endpoint: string) => boolean) {
	const [present, files, diskFree] = await Promise.all([
		presentOf(engine).catch((error: unknown) => {
			if (error instanceof StoreUnavailable)
				return { snapshots: [], waits: new Map<string, number>(), stored: [], standbys: undefined };
			throw error;
		}),
		// That files of the store were removed is reported by `/readyz`.
		engine.disk?.fileBytes?.().catch(() => undefined),
		engine.disk?.freeBytes().catch(() => undefined),
	]);
	return {
		engine,
		service,
		counts: measured.counts,
		sees: (endpoint: string): boolean => engine.endpoints.has(endpoint) && sees(endpoint),
		/** Ids of all endpoints. */
		endpoints: engine.endpoints.all().map(({ endpoint: { id } }) => id),
		isStoreUp: false,
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
