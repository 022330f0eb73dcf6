import type { BudgetMeters } from "../core/budgets.ts";
import type { Endpoint } from "../core/endpoints/endpoint.ts";
import type { ApiError } from "../core/errors.ts";
import type { Clock } from "../system/clock.ts";
import type { EpochMs } from "../lib/time.ts";
import type { GpuTotals } from "../core/workers/gpus.ts";
import type { TraceHooks } from "../core/trace.ts";
import type { EventBus } from "../events.ts";
import type { WorkerAdapter } from "../launchers/launcher.ts";
import type { Random } from "../lib/ids.ts";
import type { BackgroundTasks } from "../system/loop.ts";
import type { ReleasePolicy } from "./releases/policy.ts";
import type { PlacementPolicy } from "./scaling/placement.ts";
import type { JobFiles } from "./job-files.ts";
import type { StoredFiles } from "./stored-files.ts";
import type { JsonText } from "../lib/json/json-text.ts";
import { type Store, StoreUnavailable } from "../store/contract/store.ts";
import type { DueDelivery } from "../store/contract/webhooks.ts";
import type { Calendar } from "./availability/clock/job-clock.ts";
import type { FreeSpace } from "./availability/storage/free-space.ts";
import type { StoredBytes } from "./availability/storage/stored-bytes.ts";
import type { RetryWhileUnavailable } from "./availability/retry-while-unavailable.ts";

export interface EngineContext {
	clock: Clock;
	/** The job clock. */
	now: () => EpochMs;
	calendar: Calendar;
	random: Random;
	/** Domains react by events where a call would point against their order. */
	events: EventBus;
	/** Behind the gate of `availability/store-health.ts`. */
	store: Store;
	/** Budgets of this server (D41). */
	budgets: BudgetMeters;
	retry: RetryWhileUnavailable;
	space: FreeSpace;
	stored: StoredBytes;
	background: BackgroundTasks;
	hooks: Hooks;
}

/** Variables of a worker, and those of them whose values its output must not show. */
export interface AddedVariables {
	env: Readonly<Record<string, string>>;
	hidden: Readonly<Record<string, string>>;
}

/** What modules do at fixed points of the kernel. A member is absent while no open module has it. */
export interface Hooks {
	traces?: TraceHooks;
	releases?: ReleasePolicy;
	placement?: PlacementPolicy;
	/** What workers did with GPUs, by endpoint; those that never had one are missing. */
	gpuTotals?: () => ReadonlyMap<string, GpuTotals>;
	/**
	 * Opens the modules that serve an endpoint with such settings, before these are used: when they are stored, here or
	 * by another server. Undefined: nothing is to be opened.
	 */
	openFor?: (endpoint: Endpoint) => Promise<unknown> | undefined;
	/**
	 * Why a submission to the endpoint is refused. Undefined, at once or later, if it is not. Rejects as the store does.
	 */
	refusal?: (endpoint: Endpoint) => Promise<ApiError | undefined> | undefined;
	/**
	 * The adapter that workers of the endpoint are; undefined if they take jobs themselves. Asked when one is launched,
	 * of endpoints with settings of modules. Throws an Error with a sentence.
	 */
	adapter?: (endpoint: Endpoint) => WorkerAdapter | undefined;
	/**
	 * More variables of workers of the endpoint; those of its `env` count more. Asked when one is launched, of endpoints
	 * with settings of modules. Throws an Error with a sentence.
	 */
	workerVariables?: (endpoint: Endpoint) => AddedVariables | undefined;
	/** What keeps files of jobs of the endpoint; undefined where nothing does. */
	jobFiles?: (endpoint: Endpoint) => JobFiles | undefined;
	/** Files of clients, for modules that read and make some. */
	files?: StoredFiles;
	/** Removes what belongs to a job that a client has deleted, before the answer. Rejects as the store does. */
	deletedJob?: (job: { endpoint: string; id: string }) => Promise<void>;
	/** Workers that an endpoint should have although no job waits that would start one. */
	wantedWorkers?: (endpoint: string) => number;
	/**
	 * The whole body of a webhook that is not that of a job, for each attempt to deliver it. Undefined at once: the
	 * stored one; later: nothing is sent, because the result was erased. Rejects as the store does.
	 */
	webhookBody?: (delivery: DueDelivery) => Promise<JsonText | undefined> | undefined;
	/** Why nothing can ever be sent to the address of a submission's webhook. Undefined if it can. */
	webhookFault?: (url: string) => string | undefined;
}

/** Reports errors of repeated work, except those of an unavailable store, which `store.away` reports. */
export function unlessUnavailable({ events }: Pick<EngineContext, "events">, where: string): (error: unknown) => void {
	return (error) => {
		if (!(error instanceof StoreUnavailable)) events.emit("fault", { where, error });
	};
}
