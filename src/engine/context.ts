import type { BudgetMeters } from "../budgets.ts";
import type { Clock } from "../clock.ts";
import type { EpochMs } from "../core/time.ts";
import type { EventBus } from "../events.ts";
import type { Random } from "../ids.ts";
import type { BackgroundTasks } from "../service.ts";
import type { Store } from "../store/contract/store.ts";
import type { Calendar } from "./availability/job-clock.ts";
import type { FreeSpace } from "./availability/free-space.ts";
import type { StoredBytes } from "./availability/stored-bytes.ts";
import type { RetryWhileUnavailable } from "./availability/retry-while-unavailable.ts";

/** What every domain of the engine is constructed with. */
export interface EngineContext {
	clock: Clock;
	/** The job clock: the time for everything that is stored. */
	now: () => EpochMs;
	/** Time of day of job times: for what is shown. */
	calendar: Calendar;
	random: Random;
	/** How domains react to each other where a call would point against their order. */
	events: EventBus;
	/** Behind the gate of `availability/store-health.ts`. */
	store: Store;
	/** What callers may hold or use of this server (D41). */
	budgets: BudgetMeters;
	retry: RetryWhileUnavailable;
	space: FreeSpace;
	stored: StoredBytes;
	background: BackgroundTasks;
}
