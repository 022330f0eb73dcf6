/**
 * The store as the engine calls it. Before the first operation after an outage, or a time in which the service did not
 * run, it extends every lease (D16 Outages): running jobs must not run twice because Sluice was unavailable.
 */
import type { Clock } from "../../system/clock.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { EventBus, EventName, Events } from "../../events.ts";
import { loop, type Loop } from "../../system/loop.ts";
import { isRead } from "../../store/operations/table.ts";
import { type Store, StoreUnavailable } from "../../store/contract/store.ts";
import type { StoreDisk } from "./storage/free-space.ts";
import type { JobClock } from "./clock/job-clock.ts";

const PROBE_MS = 250;
/** The probe of an available store waits for the next outage, which wakes it. */
const IDLE_MS = 3_600_000;

/** They concern no job and need no order. */
const UNGATED: ReadonlySet<string> = new Set(["cluster", "limits", "pieces", "time"]);

/** Their callers handle failures (D46). */
const UNWATCHED: ReadonlySet<string> = new Set(["backup", "filesFolder"]);

const OUTAGES: ReadonlySet<StoreUnavailable["why"]> = new Set(["unreachable", "full", "moved", "blocked"]);

const READABLE: ReadonlySet<string | undefined> = new Set(["full", "moved"]);

type Method = (...q: unknown[]) => Promise<unknown>;

/** With `error` an outage of the store, else a time in which the service did not run. */
interface Outage {
	error?: StoreUnavailable;
}

function isOutage(error: unknown): error is StoreUnavailable {
	return error instanceof StoreUnavailable && OUTAGES.has(error.why);
}

interface Deps {
	clock: Clock;
	events: EventBus;
	store: Store;
	time: Pick<JobClock, "now" | "settled" | "takeGap">;
	disk?: Pick<StoreDisk, "ballast"> | undefined;
}

export class StoreHealth {
	readonly store: Store;
	/** Announces an outage once, not for each operation that fails. */
	readonly events: EventBus;
	/** Probes an unavailable store when no operation does. */
	readonly service: Loop;
	readonly #d: Deps;
	#outage: Outage | undefined;
	#recovery: Promise<void> | undefined;
	/** Logged once, because answers of 503 are not logged. */
	#damageLogged = false;
	#back = new AbortController();

	constructor(d: Deps) {
		const { events } = (this.#d = d);
		this.store = this.#behindGate();
		this.events = {
			...events,
			emit<N extends EventName>(name: N, facts: Events[N]) {
				if (name === "fault" && isOutage((facts as Events["fault"]).error)) return;
				events.emit(name, facts);
			},
		};
		this.service = loop({
			clock: d.clock,
			retryMs: PROBE_MS,
			onError: () => {},
			step: async () => {
				if (this.#outage) await this.#recovered();
				return this.#outage ? PROBE_MS : IDLE_MS;
			},
		});
	}

	/** Whether it can be read and written, as far as operations have shown. */
	get isAvailable(): boolean {
		return this.#outage?.error === undefined;
	}

	waitUntilBack(ms: number, signal?: AbortSignal): Promise<void> {
		const back = this.#back.signal;
		return this.#d.clock.sleep(ms, signal ? AbortSignal.any([back, signal]) : back);
	}

	#note(error: unknown): void {
		const { events } = this.#d;
		if (error instanceof StoreUnavailable && error.why === "damaged" && !this.#damageLogged) {
			this.#damageLogged = true;
			events.emit("fault", { where: "the store", error });
		}
		if (!isOutage(error)) return;
		const isFirst = this.#outage?.error === undefined;
		this.#outage = { error };
		if (!isFirst) return;
		events.emit("store.away", { why: error.message });
		this.service.nudge();
	}

	#recovered(): Promise<void> {
		return (this.#recovery ??= this.#recover().finally(() => (this.#recovery = undefined)));
	}

	/** A full disk gets the space of the ballast first. */
	async #probe(): Promise<void> {
		const { store, disk } = this.#d;
		try {
			await store.ping();
		} catch (error) {
			if (!isOutage(error) || error.why !== "full" || !(await disk?.ballast?.release())) throw error;
			await store.ping();
		}
	}

	async #recover(): Promise<void> {
		const { store, time, events } = this.#d;
		const current = this.#outage;
		try {
			if (current?.error) await this.#probe();
			await time.settled();
			await store.jobs.extendAll({ now: time.now() });
		} catch (error) {
			this.#note(error);
			throw error;
		}
		// An outage that began meanwhile needs a recovery of its own.
		if (this.#outage !== current) return;
		this.#outage = undefined;
		if (!current?.error) return;
		events.emit("store.back", {});
		this.#back.abort();
		this.#back = new AbortController();
	}

	#watched<Q extends unknown[], A>(method: (...q: Q) => Promise<A>): (...q: Q) => Promise<A> {
		return (...q) => {
			const answer = method(...q);
			answer.catch((error: unknown) => this.#note(error));
			return answer;
		};
	}

	#gated(name: string, method: Method): Method {
		const call = this.#watched(method);
		const readable = isRead(name);
		return (...q) => {
			if (this.#d.time.takeGap()) this.#outage = { ...this.#outage };
			// Without an outage the call is made at once, so that operations keep their order.
			return this.#outage === undefined || (readable && READABLE.has(this.#outage.error?.why))
				? call(...q)
				: this.#recovered().then(() => call(...q.map((each) => this.#atPresent(each))));
		};
	}

	/** Gives a delayed call the present time. */
	#atPresent(q: unknown): unknown {
		const { now: at } = (q ?? {}) as { now?: EpochMs };
		const present = this.#d.time.now();
		return typeof at === "number" && at < present ? { ...(q as object), now: present } : q;
	}

	#behindGate(): Store {
		const { store } = this.#d;
		const groups = Object.entries(store).map(([group, methods]: [string, unknown]) => {
			if (typeof methods !== "object" || UNWATCHED.has(group)) return [group, methods];
			const calls = Object.entries(methods as Record<string, Method>).map(([name, method]) => [
				name,
				UNGATED.has(group) ? this.#watched(method) : this.#gated(`${group}.${name}`, method),
			]);
			return [group, Object.fromEntries(calls)];
		});
		return { ...(Object.fromEntries(groups) as Store), ping: this.#watched(store.ping) };
	}
}
