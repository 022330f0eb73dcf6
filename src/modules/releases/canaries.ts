/**
 * Canaries of releases (D50): while one runs, one worker of the new version takes a share of the jobs, which are
 * compared with those of the stable version. The state is in the store: the release, and the jobs in the metrics.
 */
import { behindAfter, type Canary, canaryOf, type CanaryVerdict, judgeCanary, mayTake } from "./canary.ts";
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { newReleaseJobs, type ReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import { type LaunchedSettings, withLaunched } from "../../kernel/core/releases/launched-settings.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import type { ReleaseHead } from "../../kernel/store/contract/endpoints.ts";
import { unlessUnavailable } from "../../kernel/engine/context.ts";
import type { Endpoints } from "../../kernel/engine/endpoints/endpoints.ts";
import { launchHash } from "../../kernel/engine/endpoints/launch-hash.ts";
import type { Share } from "../../kernel/engine/jobs/dispatch/dispatch.ts";
import type { Worker } from "../../kernel/engine/workers/worker-registry.ts";
import { isManaged } from "../../kernel/launchers/index.ts";
import type { Kernel } from "../../kernel/module.ts";
import { busOf } from "../../kernel/events.ts";
import type { EVENTS } from "./events.ts";
import { releasesOf } from "../../kernel/engine/releases/worker-release.ts";

/** Time between two readings of the metrics, ms. */
const COMPARE_MS = 10_000;

/** The canary of an endpoint, kept until another version is current. */
interface State extends Canary<ReleaseHead> {
	isOver: boolean;
	/** Set once the log has said that the canary goes on after `maxMs`. */
	isLate?: true;
	/** Settings of the stable version; undefined until they are read. */
	launched?: LaunchedSettings;
	comparedAt: EpochMs;
	verdict?: CanaryVerdict;
	share: Share;
}

export type Canaries = ReturnType<typeof createCanaries>;

export function createCanaries(d: Kernel) {
	const { endpoints, now, background, metrics } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const { setShare } = d.jobs;
	const states = new Map<string, State>();

	function begin(endpoint: Endpoint, canary: Canary<ReleaseHead>): void {
		const state: State = { ...canary, isOver: false, comparedAt: -Infinity, share: shareOf(d.workers, () => state) };
		states.set(endpoint.id, state);
		setShare(endpoint.id, state.share);
		background.run(`settings of version ${canary.stable.version} of ${endpoint.id}`, readStable(endpoint, state));
	}

	async function readStable(endpoint: Endpoint, state: State): Promise<void> {
		const read = () => stableSettings(endpoints, endpoint, state.stable);
		const launched = await d.retry(read, { signal: background.stopped });
		if (!launched) return end(state);
		// Workers of the stable version may need a module that the present settings do not.
		await d.hooks.openFor?.(withLaunched(endpoint, launched));
		state.launched = launched;
	}

	function end(state: State): void {
		const { endpoint } = state.version;
		if (states.get(endpoint) !== state) return;
		state.isOver = true;
		setShare(endpoint, undefined);
		events.emit("endpoints.changed", {});
	}

	function forget(endpoint: string): void {
		if (states.delete(endpoint)) setShare(endpoint, undefined);
	}

	/** Returns the running canary of an endpoint. */
	function runningCanary({ id }: Endpoint): State | undefined {
		const state = states.get(id);
		return state?.isOver ? undefined : state;
	}

	async function compare(state: State): Promise<void> {
		const { endpoint, createdAt } = state.version;
		const byRelease = await metrics.history.byRelease({ endpoint, from: createdAt, to: now() + 1 });
		const jobsOf = ({ launchHash: hash }: ReleaseHead): ReleaseJobs =>
			byRelease.get(endpoints.releaseOf(endpoint, hash) ?? 0) ?? newReleaseJobs();
		const q = { jobs: jobsOf(state.version), stable: jobsOf(state.stable), ranMs: now() - createdAt };
		state.verdict = judgeCanary(state, q);
		const { result, text: why } = state.verdict;
		if (result === "over") end(state);
		if (result !== "runs" || q.ranMs < state.maxMs || state.isLate) return;
		state.isLate = true;
		events.emit("release.not_compared", { endpoint, version: state.version.version, why });
	}

	events.on("endpoint.deleted", ({ endpoint }) => forget(endpoint));

	return {
		of: runningCanary,
		/** Begins and ends canaries after a change of endpoints. */
		refresh(): void {
			for (const { endpoint } of endpoints.all()) {
				const { id, release, launcher: settings } = endpoint;
				const isPossible = release.canary && isManaged(settings.type);
				const found = isPossible ? canaryOf(releasesOf(endpoints, id), endpoint) : undefined;
				const state = states.get(id);
				if (found && state?.version.version === found.version.version) {
					Object.assign(state, found);
					continue;
				}
				forget(id);
				if (found) begin(endpoint, found);
			}
		},
		/** Returns the launch hash of the stable version. */
		beside: (endpoint: Endpoint): string | undefined => runningCanary(endpoint)?.stable.launchHash,
		/**
		 * Returns the settings for the next worker: those of the new version for the second worker. Undefined until the
		 * stable ones are read.
		 */
		settingsFor(endpoint: Endpoint, staying: readonly Worker[]): Endpoint | undefined {
			const state = runningCanary(endpoint);
			if (!state || (staying.length > 0 && !staying.some(isOf(state.version)))) return endpoint;
			return state.launched && withLaunched(endpoint, state.launched);
		},
		/** Returns the surplus workers that may be stopped: one of each version stays while two are `wanted`. */
		stoppable(endpoint: Endpoint, staying: readonly Worker[], q: { surplus: Worker[]; wanted: number }): Worker[] {
			const state = runningCanary(endpoint);
			if (!state || q.wanted < 2) return q.surplus;
			const kept = [state.version, state.stable].map((each) => staying.filter(isOf(each)));
			return q.surplus.filter((worker) => !kept.some((all) => all.at(-1) === worker));
		},
		/** Returns the verdict of the comparison; undefined without a canary, and before the first reading. */
		verdict(endpoint: Endpoint): CanaryVerdict | undefined {
			const state = states.get(endpoint.id);
			if (!state || state.isOver || state.verdict?.result === "undo") return state?.verdict;
			// A job may be waiting for the last worker of the stable version, which has ended since.
			setShare(endpoint.id, state.share);
			if (now() - state.comparedAt >= COMPARE_MS) {
				state.comparedAt = now();
				const where = `comparing version ${state.version.version} of ${endpoint.id}`;
				background.run(where, compare(state).catch(unlessUnavailable(d, where)));
			}
			return state.verdict;
		},
	};
}

/** The jobs that workers of either version may start. */
function shareOf({ registry, launcher }: Kernel["workers"], canary: () => Canary<ReleaseHead>): Share {
	let behind = 0;
	// This server knows of a worker that another server launched only what it does here.
	const takesJobs = (worker: Worker): boolean =>
		(worker.managed || worker.takes > 0 || worker.held.size > 0) &&
		worker.ready &&
		!worker.unhealthy &&
		!worker.sleep &&
		!launcher.isLeaving(worker);
	return {
		mostFor(worker) {
			const { version, stable, percent } = canary();
			if (!isOf(version)(worker)) return Infinity;
			// The share does not apply while no worker of the stable version can take the job.
			if (![...registry.of(worker.endpoint)].filter(isOf(stable)).some(takesJobs)) return Infinity;
			return mayTake(behind, percent) ? 1 : 0;
		},
		started(worker) {
			const { version, percent } = canary();
			behind = behindAfter(behind, { percent, isCanary: isOf(version)(worker) });
		},
	};
}

function isOf({ launchHash: hash }: ReleaseHead): (worker: Worker) => boolean {
	return ({ launchedAs }) => launchedAs === hash;
}

/** Reads the stable settings; undefined if no worker can be launched with them. */
async function stableSettings(
	endpoints: Endpoints,
	{ id, launcher }: Endpoint,
	{ version, launchHash: hash }: ReleaseHead,
): Promise<LaunchedSettings | undefined> {
	const opened = await endpoints.versions.settingsOf(endpoints.entry(id), version);
	const launched = opened?.settings as unknown as LaunchedSettings | undefined;
	const isSame = launched && launchHash(launched) === hash && launched.launcher.type === launcher.type;
	return isSame ? launched : undefined;
}
