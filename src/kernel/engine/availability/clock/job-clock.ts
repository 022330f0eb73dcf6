/**
 * The time for everything that is stored: this machine's monotonic clock plus an offset to the time of day, which is
 * the database's where servers share one. It follows corrections of the time of day but no steps, and leaves out times
 * in which no server ran (D16, decision 0005).
 */
import type { Clock } from "../../../system/clock.ts";
import type { EpochMs, LocalMs, WallMs } from "../../../lib/time.ts";
import type { EventBus } from "../../../events.ts";
import { loop, type Loop, type Service } from "../../../system/loop.ts";
import { type Store, StoreUnavailable } from "../../../store/contract/store.ts";
import { type ClockMeasurement, measureClock, measuredTime, STEP_MS } from "./clock-measurement.ts";
import { unlessFull } from "../storage/free-space.ts";

/**
 * A longer gap between two checks is a pause. Less than the shortest lease (2000) minus its ping interval (1000), so
 * that a pause that delays such a ping beyond its lease is noticed.
 */
const GAP_MS = 900;

/**
 * A larger move of this machine's time of day is measured at once, also one that is no pause. Otherwise the job clock
 * would follow it up to a minute later, in the middle of waits that began after the move.
 */
const MOVE_MS = 250;

/**
 * A longer gap is left out of the job clock. Shorter than every deadline of a job, long enough that a busy server's
 * time still passes.
 */
const PAUSE_MS = 5000;

const CHECK_MS = 250;

/** Time between two measurements: alone, with a shared database, after a failed one. */
const ALONE_MS = 60_000;
const SHARED_MS = 2000;
const REMEASURE_MS = 200;

/** A measurement with a longer round trip is discarded. */
const MAX_ROUND_TRIP_MS = 1000;

/** Age of a measurement from which the time of a shared database is unreliable. */
const STALE_MS = 30_000;

/** Wait for a measurement after a pause: a client gets its 503 within 2 s. */
const SETTLE_MS = 1500;

const START_ATTEMPTS = 10;

const FAULT = "does not know the common time, because its clock cannot be compared with the database's";

/** Converts job times by the present time of day, so a step also moves how earlier times are shown. */
export interface Calendar {
	/** The same on all servers that share a store. */
	now(): WallMs;
	of(at: EpochMs): WallMs;
	jobTime(wall: WallMs): EpochMs;
}

interface Deps {
	clock: Clock;
	events: EventBus;
	/** Not behind the gate: the gate needs the time. */
	store: Pick<Store, "time" | "cluster">;
	server?: string | undefined;
	pauseMs?: number | undefined;
}

export class JobClock {
	readonly services: readonly Service[];
	private readonly d: Deps;
	private readonly pauseMs: number;
	private readonly measuring: Loop;
	private inFlight: Promise<void> | undefined;
	/** Job time minus this machine's time; undefined before the first measurement. */
	private offset: number | undefined;
	/** The time of day minus the job time. */
	private ahead = 0;
	/** After a pause it is not known whether other servers ran. */
	private known = false;
	private measuredAt: LocalMs = 0;
	/** The measured time of day minus this machine's time. */
	private measuredSkew: number | undefined;
	private checkedAt: LocalMs;
	private checked: EpochMs = -Infinity;
	/** This machine's time of day minus its monotonic time. */
	private skew: number;
	private gapFound = false;

	readonly calendar: Calendar = {
		now: () => this.now() + this.ahead,
		of: (at) => (at as number) + this.ahead,
		jobTime: (wall) => (wall as number) - this.ahead,
	};

	constructor(d: Deps) {
		this.d = d;
		const { clock, events, store } = d;
		this.pauseMs = d.pauseMs ?? PAUSE_MS;
		this.checkedAt = clock.now();
		this.skew = clock.wall() - this.checkedAt;
		const repeat = (where: string, retryMs: number, step: () => Promise<number>): Loop =>
			loop({
				clock,
				retryMs,
				step,
				onError(error) {
					// `store.away` reports an unavailable store.
					if (!(error instanceof StoreUnavailable)) events.emit("fault", { where, error });
				},
			});
		const checking = repeat("checking the clock", CHECK_MS, async () => {
			this.check();
			return CHECK_MS;
		});
		this.measuring = repeat("measuring the clock", SHARED_MS, async () => {
			await this.measure();
			if (!this.known) return REMEASURE_MS;
			return store.cluster ? SHARED_MS : ALONE_MS;
		});
		this.services = [checking, { start: this.measuring.start, stop: () => this.stop() }];
	}

	/** Never goes back, and stands still during a long pause. */
	now(): EpochMs {
		const local = this.d.clock.now();
		if (this.offset === undefined || local - this.checkedAt > this.pauseMs) return this.checked;
		return Math.max(this.checked, local + this.offset);
	}

	/** Whether this server paused since the last call: leases must then be extended. */
	takeGap(): boolean {
		this.check();
		const found = this.gapFound;
		this.gapFound = false;
		return found;
	}

	/** Resolves when `now` is the present again after a pause. Throws `StoreUnavailable` if that takes too long. */
	async settled(): Promise<void> {
		const { clock } = this.d;
		this.check();
		for (const until = clock.now() + SETTLE_MS; !this.known; ) {
			await this.measure();
			if (!this.known && clock.now() >= until) throw new StoreUnavailable("unreachable", `This server ${FAULT}.`);
			if (!this.known) await clock.sleep(REMEASURE_MS);
		}
	}

	/** Must be done before the first `now`. Throws when the time cannot be known. */
	async prepare(): Promise<void> {
		for (let attempt = 0; !this.known && attempt < START_ATTEMPTS; attempt += 1) await unlessFull(this.measure());
		if (!this.known) throw new Error(`This server ${FAULT}: a round trip takes over ${MAX_ROUND_TRIP_MS} ms.`);
	}

	/** Returns why the time is unreliable, as the end of a sentence. */
	fault(): string | undefined {
		this.check();
		if (!this.d.store.cluster) return undefined;
		return this.known && this.d.clock.now() - this.measuredAt <= STALE_MS ? undefined : FAULT;
	}

	/** Time of day of this machine minus the database's, ms; undefined where no database is shared. */
	skewFromDatabase(): number | undefined {
		const { clock, store } = this.d;
		if (!store.cluster || this.measuredSkew === undefined) return undefined;
		return clock.wall() - clock.now() - this.measuredSkew;
	}

	/** Notices a pause, and a suspension of this machine, which moves only its time of day forward. */
	private check(): void {
		const local = this.d.clock.now();
		// Every call of the store checks, mostly within the same millisecond.
		if (local === this.checkedAt) return;
		const gap = local - this.checkedAt;
		this.checkedAt = local;
		if (this.offset === undefined) return;
		if (gap > this.pauseMs) this.offset -= gap;
		this.checked = Math.max(this.checked, local + this.offset);
		const moved = this.d.clock.wall() - local - this.skew;
		const hasMoved = Math.abs(moved) > MOVE_MS;
		if (hasMoved) this.skew += moved;
		if (Math.max(gap, moved) > GAP_MS) this.gapFound = true;
		if (gap > GAP_MS) this.d.events.emit("service.away", { ms: gap });
		if (!hasMoved && gap <= this.pauseMs) return;
		this.known = false;
		this.measuring.nudge();
	}

	private measure(): Promise<void> {
		return (this.inFlight ??= this.measureOnce().finally(() => (this.inFlight = undefined)));
	}

	private async measureOnce(): Promise<void> {
		const { clock, store, server } = this.d;
		const { skew } = this;
		const measurement = await measureClock(clock, store);
		const { from, to, wall } = measurement;
		if (to - from > MAX_ROUND_TRIP_MS) return;
		this.check();
		// What was read before a move is of no use after it; the check has asked for another measurement.
		if (this.skew !== skew) return;
		const own = this.offset === undefined ? undefined : from + this.offset;
		const at = measuredTime(measurement, own, server);
		const before = this.now();
		// The reading was at any moment between the two: an offset that fits one of them is kept.
		this.offset = Math.min(at - from, Math.max(at - to, this.offset ?? -Infinity));
		this.checked = this.now();
		if (own !== undefined && this.checked - before > GAP_MS) this.gapFound = true;
		this.ahead = wall - at;
		this.known = true;
		this.measuredAt = from;
		const measured = wall - from;
		const step = measured - (this.measuredSkew ?? measured);
		this.measuredSkew = measured;
		if (Math.abs(step) > STEP_MS) this.d.events.emit("clock.stepped", { ms: step });
		await this.save(at, measurement);
	}

	/** Not needed when another server just stored the same. */
	private async save(at: EpochMs, { wall, seen }: ClockMeasurement): Promise<void> {
		const { store, server } = this.d;
		if (seen && seen.wall - seen.at === wall - at && wall - seen.wall <= SHARED_MS / 2) return;
		await store.time.seen({ at, wall, ...(server !== undefined && { server }) });
	}

	/** A server that has the store alone also stores when it stopped. */
	private async stop(): Promise<void> {
		await this.measuring.stop();
		if (!this.d.store.cluster) await this.measure().catch(() => {});
	}
}
