/**
 * The job clock where several servers share a database: this machine's clock plus a measured offset
 * to the database's, less the steps of that one, which the servers record in the database
 * (D16, D24, decision 0030).
 */
import type { EpochMs, LocalMs } from "../../core/time.ts";
import { loop } from "../../service.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { ClockStep } from "../../store/contract/time.ts";
import { stepRecord } from "./calendar.ts";
import { type JobClock, type JobClockDeps, SEEN_MS, SUSPEND_MS } from "./job-clock.ts";
import { suspensions } from "./suspensions.ts";

/** Time between two measurements, ms, and between two while the offset is unknown. */
const MEASURE_MS = 2000;
const REMEASURE_MS = 200;

/** A measurement may err by half its round trip, ms; one that may err by more is discarded. */
const MAX_ERROR_MS = 500;

/** Two measurements that differ by more contradict each other, ms. */
const JUMP_MS = 1000;

/** Time without a measurement after which the time is unreliable, ms. */
const STALE_MS = 30_000;

/** Number of measurements of which the one with the shortest round trip counts. */
const KEPT_MEASUREMENTS = 8;

/** How long operations wait for a measurement after a pause, ms: a client gets its 503 within 2 s. */
const SETTLE_MS = 1500;

/** Measurements at the start before it fails. */
const START_ATTEMPTS = 10;

const FAULT = "does not know the common time, because its clock cannot be compared with the database's";

interface Measurement {
	/** Job time minus machine time. */
	offset: number;
	/** How much the offset may be wrong, ms. */
	error: number;
}

/**
 * `now` is never before the last observation by a mere correction. While the offset is unknown it
 * stays at the last observation: no lease expires while the clock is frozen. `observe`: after a gap of
 * more than {@link SUSPEND_MS} since the last observation the offset is unknown.
 */
export function clockOffset({
	clock,
	events,
	store: { time },
	cluster,
	server,
	pauseMs,
}: JobClockDeps & { cluster: ClusterStore }): JobClock {
	let measurements: Measurement[] = [];
	let offset = 0;
	let known = false;
	/** The offset was known once. */
	let trusted = false;
	/** While the offset is unknown after contradicting measurements: the last one. */
	let candidate: number | undefined;
	let observedLocal: LocalMs = clock.now();
	let observed: EpochMs = -Infinity;
	let measuredAt: LocalMs = observedLocal;
	let seenAt: LocalMs = -Infinity;
	/** How long this server did not run since the offset was known, ms. */
	let paused = 0;
	/** A suspension that {@link observe} has not returned yet, ms. */
	let unreported = 0;
	const suspended = suspensions(clock);
	let inFlight: Promise<void> | undefined;

	const stepped = (): boolean => Math.abs(clock.now() - observedLocal) > SUSPEND_MS;

	function now(): EpochMs {
		if (!known || stepped()) return observed;
		const present = Math.round(clock.now() + offset);
		return present < observed && observed - present <= SUSPEND_MS ? observed : present;
	}
	const record = stepRecord(now);

	function observe(): number {
		const gap = clock.now() - observedLocal;
		if (gap > pauseMs) paused += gap;
		if (known && stepped()) {
			known = false;
			measuring.nudge();
		}
		observed = now();
		observedLocal = clock.now();
		const asleep = unreported;
		unreported = 0;
		return asleep;
	}

	/** One at a time: two would record a jump twice. */
	function measure(): Promise<void> {
		return (inFlight ??= measureOnce().finally(() => (inFlight = undefined)));
	}

	async function measureOnce(): Promise<void> {
		const sent = clock.now();
		const { wall, last } = await cluster.clock();
		const received = clock.now();
		const error = (received - sent) / 2;
		if (error < 0 || error > MAX_ERROR_MS) return;
		observe();
		if (last.serial !== record.last().serial) {
			record.load((await time.read()).steps);
			measurements = [];
			candidate = undefined;
		}
		await apply({ offset: wall - last.ahead - (sent + received) / 2, error });
	}

	async function apply(measurement: Measurement): Promise<void> {
		const expected = known ? offset : candidate;
		if (expected !== undefined && Math.abs(measurement.offset - expected) > JUMP_MS) {
			known = false;
			candidate = measurement.offset;
			return;
		}
		if (!known && !(await (trusted ? removeJump : notBackward)(measurement))) return;
		measurements = known ? [...measurements, measurement].slice(-KEPT_MEASUREMENTS) : [measurement];
		offset = measurements.reduce((best, each) => (each.error < best.error ? each : best)).offset;
		known = trusted = true;
		candidate = undefined;
		measuredAt = clock.now();
		if (measuredAt - seenAt < SEEN_MS) return;
		await time.seen({ at: now(), wall: record.now() });
		seenAt = measuredAt;
	}

	/**
	 * After a time with an unknown offset: leaves out by how far the database's clock was set, and,
	 * if no other server ran meanwhile, how long this one did not. False if another server was
	 * faster.
	 */
	async function removeJump(measurement: Measurement): Promise<boolean> {
		const asleep = suspended.take();
		const others = paused + asleep > 0 && (await othersRan(Math.round(clock.now() + measurement.offset)));
		const drift = measurement.offset - offset;
		const jump = drift + (others ? -asleep : paused);
		if (Math.abs(jump) > JUMP_MS) {
			if (!(await addStep(observed, jump))) return false;
			measurement.offset -= jump;
		}
		const set = drift - asleep;
		if (Math.abs(set) > JUMP_MS) events.emit("clock.stepped", { ms: Math.round(set) });
		paused = 0;
		unreported = asleep;
		return true;
	}

	async function othersRan(at: EpochMs): Promise<boolean> {
		return (await cluster.servers({ now: at })).some(({ id }) => id !== server);
	}

	/** A start: the job clock continues at least where another run left it. */
	async function notBackward(measurement: Measurement): Promise<boolean> {
		const { lastSeen } = await time.read();
		const present = Math.round(clock.now() + measurement.offset);
		const back = present - (lastSeen?.at ?? -Infinity);
		if (back >= -JUMP_MS) return true;
		if (!lastSeen || !(await addStep(lastSeen.at, back))) return false;
		measurement.offset -= back;
		return true;
	}

	/** The time of day is ahead of the job clock by so much more; false if it was recorded already. */
	async function addStep(at: EpochMs, more: number): Promise<boolean> {
		const { serial, ahead } = record.last();
		const added: ClockStep = { serial: serial + 1, at, ahead: Math.round(ahead + more) };
		if (!(await time.step(added))) return false;
		record.add(added);
		return true;
	}

	const measuring = loop({
		clock,
		retryMs: MEASURE_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) events.emit("fault", { where: "measuring the clock", error });
		},
		step: async () => {
			await measure();
			return known ? MEASURE_MS : REMEASURE_MS;
		},
	});

	return {
		now,
		calendar: record,
		observe,
		async settled() {
			observe();
			for (const until = clock.now() + SETTLE_MS; !known; ) {
				await measure();
				if (!known && clock.now() >= until) throw new StoreUnavailable("unreachable", `This server ${FAULT}.`);
				if (!known) await clock.sleep(REMEASURE_MS);
			}
		},
		async prepare() {
			for (let attempt = 0; !known && attempt < START_ATTEMPTS; attempt += 1) await measure();
			if (known) return;
			throw new Error(
				`This server ${FAULT}: a round trip takes over ${2 * MAX_ERROR_MS} ms, or one of ` +
					"the clocks jumps. Synchronize both by NTP.",
			);
		},
		fault: () => (!known || stepped() || clock.now() - measuredAt > STALE_MS ? FAULT : undefined),
		services: [measuring],
	};
}
