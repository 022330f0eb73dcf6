/** GPU seconds of each endpoint per day (D43): what the metrics of all servers have since midnight UTC. */
import { DAY_MS } from "../../kernel/core/durations.ts";
import { type Endpoint, gpuBound } from "../../kernel/core/endpoints/endpoint.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";

/** Age of the sum at which it is read again, ms. Other servers store theirs once a minute. */
const READ_MS = 10_000;

interface Use {
	day: EpochMs;
	readAt: EpochMs;
	/** Runs since midnight, ms: those of the last read, and those that this server has seen end since then. */
	read: number;
	since: number;
}

type Deps = Pick<EngineContext, "now" | "events" | "calendar"> & {
	/** Returns the sum of the runs since then, ms. */
	runTime: (q: { endpoint: string; from: EpochMs; to: EpochMs }) => Promise<number>;
};

export function gpuQuotas({ now, events, calendar, runTime }: Deps) {
	const uses = new Map<string, Use>();
	const reads = new Map<string, Promise<Use>>();

	events.on("job.settled", ({ endpoint, ranMs = 0, elsewhere }) => {
		const use = uses.get(endpoint);
		if (use && !elsewhere) use.since += ranMs;
	});
	events.on("endpoint.removed", ({ endpoint }) => void uses.delete(endpoint));

	async function read(endpoint: string, day: EpochMs): Promise<Use> {
		// The metrics of this server are read before the first wait: a run that ends later counts in `since`.
		const sum = runTime({ endpoint, from: day, to: now() + 1 });
		const use: Use = { day, readAt: now(), read: 0, since: 0 };
		uses.set(endpoint, use);
		try {
			use.read = await sum;
			return use;
		} catch (error) {
			uses.delete(endpoint);
			throw error;
		} finally {
			reads.delete(endpoint);
		}
	}

	function useOf(endpoint: string): Promise<Use> | Use {
		const day = Math.floor(now() / DAY_MS) * DAY_MS;
		const known = uses.get(endpoint);
		const reading = reads.get(endpoint);
		if (reading) return reading;
		if (known?.day === day && now() - known.readAt < READ_MS) return known;
		const begun = read(endpoint, day);
		reads.set(endpoint, begun);
		return begun;
	}

	async function refusalOf({ id, gpusPerWorker }: Endpoint, limit: number): Promise<ApiError | undefined> {
		const { day, read: earlier, since } = await useOf(id);
		const used = ((earlier + since) / 1000) * gpusPerWorker;
		if (used < limit) return undefined;
		const end = day + DAY_MS;
		return new ApiError("gpu_quota_used", {
			endpoint: id,
			used: Math.round(used),
			limit,
			end: new Date(calendar.of(end)).toISOString(),
			retryAfter: Math.max(1, Math.ceil((end - now()) / 1000)),
		});
	}

	return {
		/** Returns why a job is refused; undefined if it is not, at once without a quota. Rejects as the store does. */
		refusal(endpoint: Endpoint): Promise<ApiError | undefined> | undefined {
			const bound = gpuBound(endpoint);
			return bound === undefined ? undefined : refusalOf(endpoint, bound);
		},
	};
}
