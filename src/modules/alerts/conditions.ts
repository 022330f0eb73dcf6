/** Computes the values of alert rules (D53) from the values that `/metrics` shows. */
import { type AlertName, FEWEST_FAILURES, NO_ROOM, ruleOf, UNALARMING_BUDGET } from "./rules.ts";
import type { Labels } from "./state.ts";
import { CounterWindow } from "./counter-window.ts";
import { BUDGETS, type BudgetName } from "../../kernel/core/budgets.ts";
import { percentiles } from "../../kernel/lib/histogram.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { StoreState } from "../../kernel/engine/engine.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { Family } from "../../kernel/core/metrics/family.ts";
import type { Metrics } from "../../kernel/engine/metrics/metrics.ts";

export interface Measured extends EngineContext, StoreState, Pick<Kernel, "families"> {
	metrics: Metrics;
}

export type Values = readonly (readonly [labels: Labels, value: number])[];
/** Values by rule; a rule that is absent has no value yet. */
export type Measurement = Partial<Record<AlertName, Values>>;

const BUDGET_NAMES = (Object.keys(BUDGETS) as BudgetName[]).filter((name) => name !== UNALARMING_BUDGET);

/** Highest ratio that is reported: without any work the ratio would be infinite. */
const MOST_RATIO = 100;

function windowOf(name: AlertName): CounterWindow {
	return new CounterWindow((ruleOf(name).windowSeconds ?? 0) * 1000);
}

/** Returns the values of the rules that each server evaluates about itself. */
export function serverConditions(d: Measured): (instance: string) => Promise<Measurement> {
	const commits = windowOf("SluiceStoreSlow");
	const refusals = windowOf("SluiceRefuses");
	const gpuTimes = windowOf("SluiceSwaps");

	/** Returns the 99th percentile of commit times in the window, s. */
	function commitTime(now: EpochMs): number | undefined {
		const { counts = [] } = d.storeLoad()?.commitMs ?? {};
		const grown = commits.grown(
			[...counts].map(([bucket, count]) => [String(bucket), count]),
			now,
		);
		const within = new Map(
			[...grown].filter(([, count]) => count > 0).map(([bucket, count]) => [Number(bucket), count]),
		);
		const [ms] = percentiles({ counts: within, sum: 0 }, [0.99]) ?? [];
		return ms === undefined ? undefined : ms / 1000;
	}

	/** Returns the time of GPUs whose workers start, divided by the time of GPUs whose workers are busy. */
	function swaps(now: EpochMs): number {
		const all = [...(d.hooks.gpuTotals?.().values() ?? [])];
		const sums = (["starting", "busy"] as const).map(
			(use) => [use, all.reduce((sum, { ms }) => sum + ms[use], 0)] as const,
		);
		const grown = gpuTimes.grown(sums, now);
		const [starting = 0, busy = 0] = [grown.get("starting"), grown.get("busy")];
		return starting === 0 ? 0 : Math.min(MOST_RATIO, starting / busy);
	}

	return async (instance) => {
		const now = d.now();
		const free = await d.disk?.freeBytes().catch(() => undefined);
		const valuesOf = (value: number | undefined, more: Labels = {}): Values =>
			value === undefined ? [] : [[{ instance, ...more }, value]];
		const skew = d.skewFromDatabase();
		const spent = BUDGET_NAMES.map((name) => [name, d.budgets[name].spent] as const);
		return {
			SluiceStoreDown: valuesOf(Number(d.isStoreAvailable())),
			SluiceStoreSlow: valuesOf(commitTime(now)),
			SluiceDiskAlmostFull: valuesOf(free === undefined ? undefined : free / d.budgets.reservedDisk.limit),
			SluiceRefuses: [...refusals.grown(spent, now)].flatMap(([budget, count]) => valuesOf(count, { budget })),
			SluiceClockSkew: valuesOf(skew === undefined ? undefined : Math.abs(skew) / 1000),
			SluiceSwaps: valuesOf(swaps(now)),
		};
	};
}

/**
 * Returns the values of the rules that one server evaluates for all. `lost`: addresses of servers that do not answer.
 */
export function serviceConditions(d: Measured): (lost: readonly string[]) => Promise<Measurement> {
	const failed = windowOf("SluiceFailures");
	const ended = windowOf("SluiceFailures");
	const webhooksFailed = windowOf("SluiceWebhooksFail");

	return async (lost) => {
		const down: Measurement = { SluiceServerDown: lost.map((instance) => [{ instance }, 0]) };
		const read = await Promise.all([d.metrics.snapshots(), d.metrics.oldestWaits(), d.families(), d.standbys()]).catch(
			(error: unknown) => {
				if (error instanceof StoreUnavailable) return undefined;
				throw error;
			},
		);
		if (!read) return down;
		const [snapshots, waits, families, standbys] = read;
		const now = d.now();
		const states = (state: string): Values =>
			snapshots.map(({ endpoint: { id }, health }) => [{ endpoint: id }, Number(health.state === state)]);
		const failures = failed.grown(
			snapshots.map(({ endpoint: { id }, jobs }) => [id, jobs.failed]),
			now,
		);
		const ends = ended.grown(
			snapshots.map(({ endpoint: { id }, jobs }) => [id, jobs.failed + jobs.completed]),
			now,
		);
		const backlog = valuesIn(families, "sluice_webhooks_pending");
		const deliveries = valuesIn(families, "sluice_webhooks_total");
		const givenUp =
			deliveries &&
			webhooksFailed.grown(
				deliveries.flatMap(([[endpoint = "", state], count]) => (state === "failed" ? [[endpoint, count]] : [])),
				now,
			);
		return {
			...down,
			SluiceCrashLoop: states("crashing"),
			SluiceNoWorkers: states("no_workers"),
			SluiceNoCapacity: snapshots.flatMap(({ endpoint: { id }, health: { reason } }) =>
				reason && NO_ROOM.includes(reason.code) ? [[{ endpoint: id, reason: reason.code }, 1] as const] : [],
			),
			SluiceOldestWait: snapshots.flatMap(({ endpoint: { id }, paused }) =>
				paused ? [] : [[{ endpoint: id }, (waits.get(id) ?? 0) / 1000] as const],
			),
			SluiceFailures: [...failures].flatMap(([endpoint, count]) =>
				count < FEWEST_FAILURES ? [] : [[{ endpoint }, count / ends.get(endpoint)!] as const],
			),
			...(backlog && {
				SluiceWebhookBacklog: backlog.map(([[endpoint = ""], count]) => [{ endpoint }, count] as const),
			}),
			...(givenUp && { SluiceWebhooksFail: [...givenUp].map(([endpoint, count]) => [{ endpoint }, count] as const) }),
			SluiceReplicationAsync: standbys ? [[{}, standbys.isSynchronous ? 0 : standbys.connected]] : [],
		};
	};
}

/** Samples of a family of counts. Undefined if no module has it, or it is not known now. */
function valuesIn(
	families: readonly Family[],
	name: string,
): (readonly [labels: readonly string[], value: number])[] | undefined {
	const family = families.find((each) => each.name === name);
	return family?.samples.flatMap(([labels, value]) => (typeof value === "number" ? [[labels, value] as const] : []));
}
