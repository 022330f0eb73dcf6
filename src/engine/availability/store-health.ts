/**
 * The store as the engine calls it. It notices that the store is unavailable, and before the first
 * operation after an outage, or after a time in which the service did not run, it extends every
 * lease (D16 Outages): running jobs must not run twice because Sluice was unavailable.
 */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus, EventName, Events } from "../../events.ts";
import { loop, type Service } from "../../service.ts";
import { isRead } from "../../store/operations/table.ts";
import { type Store, StoreUnavailable } from "../../store/contract/store.ts";

/** Time between two attempts to reach an unavailable store, and between two checks of an available one, ms. */
const PROBE_MS = 250;
const CHECK_MS = 1000;

/** Groups that concern no job and need no order: heartbeats, counts of limits, the clock. */
const UNGATED: ReadonlySet<string> = new Set(["cluster", "limits", "time"]);

/** Groups whose failures are handled by their callers (D46). */
const UNWATCHED: ReadonlySet<string> = new Set(["backup"]);

const OUTAGES: ReadonlySet<StoreUnavailable["why"]> = new Set(["unreachable", "full", "moved", "blocked"]);

/** Outages in which the store can still be read. */
const READABLE: ReadonlySet<string | undefined> = new Set(["full", "moved"]);

type Method = (...q: unknown[]) => Promise<unknown>;

export interface StoreHealth {
	/** The store behind the gate. */
	store: Store;
	/**
	 * The bus for the engine: an outage is announced once, not by each operation that fails of it.
	 */
	events: EventBus;
	/** Resolves when the store is available again, after `ms`, or when the signal aborts. */
	waitUntilBack(ms: number, signal?: AbortSignal): Promise<void>;
	/** Probes an unavailable store when no operation does, and checks the files of an available one. */
	service: Service;
}

/** An outage of the store, with its error, or a time in which the service did not run. */
interface Outage {
	error?: StoreUnavailable;
}

/** Whether an error means that the store is unavailable to everybody. */
function isOutage(error: unknown): error is StoreUnavailable {
	return error instanceof StoreUnavailable && OUTAGES.has(error.why);
}

export function storeHealth({
	clock,
	now,
	settled,
	takeGap,
	release = async () => false,
	store,
	events,
}: {
	clock: Clock;
	now: () => EpochMs;
	/** Resolves when `now` is right, after a time in which the service did not run. */
	settled: () => Promise<void>;
	/** Whether the service did not run for a while since the last call. */
	takeGap: () => boolean;
	/** Gives up space on a full disk; false when there is none to give. */
	release?: (() => Promise<boolean>) | undefined;
	store: Store;
	events: EventBus;
}): StoreHealth {
	let outage: Outage | undefined;
	let recovery: Promise<void> | undefined;
	/** Once: answers of 503 are not logged. */
	let damageLogged = false;
	const waiting = new Set<AbortController>();

	function note(error: unknown): void {
		if (error instanceof StoreUnavailable && error.why === "damaged" && !damageLogged) {
			damageLogged = true;
			events.emit("fault", { where: "the store", error });
		}
		if (!isOutage(error)) return;
		const isFirst = outage?.error === undefined;
		outage = { error };
		if (!isFirst) return;
		events.emit("store.away", { why: error.message });
		probing.nudge();
	}

	/** Resolves when the store takes writes and every lease was extended. Throws as the store does. */
	function recovered(): Promise<void> {
		recovery ??= recover().finally(() => (recovery = undefined));
		return recovery;
	}

	async function probe(): Promise<void> {
		try {
			await store.ping();
		} catch (error) {
			if (!isOutage(error) || error.why !== "full" || !(await release())) throw error;
			await store.ping();
		}
	}

	async function recover(): Promise<void> {
		const current = outage;
		try {
			if (current?.error) await probe();
			await settled();
			await store.jobs.extendAll({ now: now() });
		} catch (error) {
			note(error);
			throw error;
		}
		// An outage that began meanwhile needs a recovery of its own.
		if (outage !== current) return;
		outage = undefined;
		if (!current?.error) return;
		events.emit("store.back", {});
		for (const each of waiting) each.abort();
	}

	function watched<Q extends unknown[], A>(method: (...q: Q) => Promise<A>): (...q: Q) => Promise<A> {
		return (...q) => {
			const answer = method(...q);
			answer.catch(note);
			return answer;
		};
	}

	function gated(name: string, method: Method): Method {
		const call = watched(method);
		const readable = isRead(name);
		return (...q) => {
			if (takeGap()) outage = { ...outage };
			// Without an outage the call must be made at once: operations keep their order.
			return outage === undefined || (readable && READABLE.has(outage.error?.why))
				? call(...q)
				: recovered().then(() => call(...q.map(atPresent)));
		};
	}

	/** Re-stamps a delayed call with the current time. */
	function atPresent(q: unknown): unknown {
		const { now: at } = (q ?? {}) as { now?: EpochMs };
		const present = now();
		return typeof at === "number" && at < present ? { ...(q as object), now: present } : q;
	}

	function behindGate(): Store {
		const groups = Object.entries(store).map(([group, methods]: [string, unknown]) => {
			if (typeof methods !== "object" || UNWATCHED.has(group)) return [group, methods];
			return [
				group,
				Object.fromEntries(
					Object.entries(methods as Record<string, Method>).map(([name, method]) => [
						name,
						UNGATED.has(group) ? watched(method) : gated(`${group}.${name}`, method),
					]),
				),
			];
		});
		return { ...(Object.fromEntries(groups) as Store), ping: watched(store.ping) };
	}

	const probing = loop({
		clock,
		retryMs: PROBE_MS,
		onError: () => {},
		step: async () => {
			if (outage) await recovered();
			else if (store.confirm) await watched(store.confirm)();
			return outage ? PROBE_MS : CHECK_MS;
		},
	});

	return {
		store: behindGate(),
		events: {
			...events,
			emit<N extends EventName>(name: N, facts: Events[N]) {
				if (name === "fault" && isOutage((facts as Events["fault"]).error)) return;
				events.emit(name, facts);
			},
		},
		async waitUntilBack(ms, signal) {
			if (signal?.aborted) return;
			const end = new AbortController();
			const leave = (): void => end.abort();
			signal?.addEventListener("abort", leave, { once: true });
			waiting.add(end);
			await clock.sleep(ms, end.signal);
			waiting.delete(end);
			signal?.removeEventListener("abort", leave);
		},
		service: probing,
	};
}
