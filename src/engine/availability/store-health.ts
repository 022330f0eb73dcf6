/**
 * The store as the engine calls it: it is noticed when the store is away, and when it is back, or
 * when the service itself did not run, every lease is extended before anything else happens to jobs
 * (D16 Outages). Live work must not run twice because we were away, whoever comes first: a client's
 * look, a worker's ping, a sweep.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus, EventName, Events } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import { StoreUnavailable } from "../../store/store.ts";
import type { Store } from "../../store/store.ts";

/** Time between two looks whether the store is back, ms, and between two looks at nothing. */
const LOOK_MS = 250;
const IDLE_MS = 60_000;

/** What goes on while nothing can be written (D40). */
const READS: ReadonlySet<string> = new Set([
	"get",
	"counts",
	"allCounts",
	"waiting",
	"list",
	"record",
	"running",
	"unstopped",
	"attempts",
	"read",
	"find",
]);

/** Groups that touch no job and need no order: signs of life. */
const UNGATED: ReadonlySet<string> = new Set(["cluster"]);

/** What is counted without them when they fail (D24). */
const UNCOUNTED: ReadonlySet<string> = new Set(["limits"]);

type Method = (...q: unknown[]) => Promise<unknown>;

/** The store behind its gate. */
export interface StoreHealth {
	store: Store;
	/**
	 * The bus for the engine: that the store is away is told once, not by each step that fails of it.
	 */
	events: EventBus;
	/** The service did not run for a while: leases are extended before the next step. */
	missed(): void;
	/** Resolves when the store is back, after `ms`, or when the signal aborts. */
	back(ms: number, signal?: AbortSignal): Promise<void>;
	/** Looks whether the store is back when nobody asks. */
	loop: Loop;
}

/** An outage: of the store, with its fault, or of the service. */
interface Outage {
	fault?: StoreUnavailable;
}

/** Whether a fault means that the store is away, for everybody. */
function isOutage(error: unknown): error is StoreUnavailable {
	return error instanceof StoreUnavailable && (error.why === "unreachable" || error.why === "full");
}

/** `now` is asked when leases are extended. */
export function storeHealth({
	clock,
	now,
	store,
	events,
}: {
	clock: Clock;
	now: () => number;
	store: Store;
	events: EventBus;
}): StoreHealth {
	let outage: Outage | undefined;
	let probing: Promise<void> | undefined;
	const waiting = new Set<AbortController>();

	function note(error: unknown): void {
		if (!isOutage(error)) return;
		const known = outage?.fault !== undefined;
		outage = { fault: error };
		if (known) return;
		events.emit("store.away", { why: error.message });
		looking.nudge();
	}

	/**
	 * Resolves when the store takes writes and every lease was extended; throws as the store does.
	 */
	function recovered(): Promise<void> {
		probing ??= recover().finally(() => (probing = undefined));
		return probing;
	}

	async function recover(): Promise<void> {
		const over = outage;
		try {
			if (over?.fault) await store.ping();
			await store.jobs.extendAll({ now: now() });
		} catch (error) {
			note(error);
			throw error;
		}
		// One that began meanwhile needs an end of its own.
		if (outage !== over) return;
		outage = undefined;
		if (!over?.fault) return;
		events.emit("store.back", {});
		for (const each of waiting) each.abort();
	}

	function watched<Q extends unknown[], A>(
		method: (...q: Q) => Promise<A>,
	): (...q: Q) => Promise<A> {
		return (...q) => {
			const answer = method(...q);
			answer.catch(note);
			return answer;
		};
	}

	function gated(name: string, method: Method): Method {
		const asked = watched(method);
		const isRead = READS.has(name);
		// Nothing is waited for where nothing is wrong: what is asked in a row leaves in that order.
		return (...q) =>
			outage === undefined || (isRead && outage.fault?.why === "full")
				? asked(...q)
				: recovered().then(() => asked(...q));
	}

	/** The groups of the store, each method behind the gate or only watched. */
	function behind(): Store {
		const groups = Object.entries(store).map(([group, methods]: [string, unknown]) => {
			if (typeof methods !== "object" || UNCOUNTED.has(group)) return [group, methods];
			return [
				group,
				Object.fromEntries(
					Object.entries(methods as Record<string, Method>).map(([name, method]) => [
						name,
						UNGATED.has(group) ? watched(method) : gated(name, method),
					]),
				),
			];
		});
		return { ...(Object.fromEntries(groups) as Store), ping: watched(store.ping) };
	}

	const looking = loop({
		clock,
		retryMs: LOOK_MS,
		onError: () => {},
		step: async () => {
			if (outage) await recovered();
			return outage ? LOOK_MS : IDLE_MS;
		},
	});

	return {
		store: behind(),
		events: {
			...events,
			emit<N extends EventName>(name: N, facts: Events[N]) {
				if (name === "fault" && isOutage((facts as Events["fault"]).error)) return;
				events.emit(name, facts);
			},
		},
		missed() {
			outage ??= {};
		},
		async back(ms, signal) {
			if (signal?.aborted) return;
			const end = new AbortController();
			const leave = (): void => end.abort();
			signal?.addEventListener("abort", leave, { once: true });
			waiting.add(end);
			await clock.sleep(ms, end.signal);
			waiting.delete(end);
			signal?.removeEventListener("abort", leave);
		},
		loop: looking,
	};
}
