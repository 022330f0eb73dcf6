/**
 * The job clock of a server that has the store alone: this machine's monotonic clock without the
 * pauses of the service, continued from the last run (D16, decision 0030).
 */
import type { EpochMs, LocalMs } from "../../core/time.ts";
import { loop } from "../../service.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { ClockStep, LastSeen } from "../../store/contract/time.ts";
import { stepRecord } from "./calendar.ts";
import { unlessFull } from "./read-only-start.ts";
import { type JobClock, type JobClockDeps, SEEN_MS, SUSPEND_MS } from "./job-clock.ts";
import { suspensions } from "./suspensions.ts";

/** Time between two attempts to write what the store has not taken, ms. */
const RETRY_MS = 1000;

export function machineClock({ clock, events, store: { time }, pauseMs }: Omit<JobClockDeps, "server">): JobClock {
	/** Job time minus machine time. */
	let base = 0;
	let observed: EpochMs = -Infinity;
	let observedLocal: LocalMs = clock.now();
	/** Steps that the store does not have yet. */
	let unsaved: readonly ClockStep[] = [];
	const suspended = suspensions(clock);

	function now(): EpochMs {
		const local = clock.now();
		return local - observedLocal > pauseMs ? observed : local + base;
	}
	const record = stepRecord(now);

	function observe(): number {
		const local = clock.now();
		const gap = local - observedLocal;
		const paused = gap > pauseMs;
		if (paused) base = observed - local;
		observed = local + base;
		observedLocal = local;
		const { ahead, serial } = record.last();
		const drift = clock.wall() - observed - ahead;
		if (Math.abs(drift) <= SUSPEND_MS) return 0;
		const added = { serial: serial + 1, at: observed, ahead: ahead + drift };
		record.add(added);
		unsaved = [...unsaved, added];
		saving.nudge();
		const asleep = suspended.take();
		const step = drift - asleep - (paused ? gap : 0);
		if (Math.abs(step) > SUSPEND_MS) events.emit("clock.stepped", { ms: step });
		return asleep;
	}

	const saving = loop({
		clock,
		retryMs: RETRY_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) events.emit("fault", { where: "recording the time", error });
		},
		step: async () => {
			await save();
			return SEEN_MS;
		},
	});

	async function save(): Promise<void> {
		for (const step of unsaved) {
			await time.step(step);
			unsaved = unsaved.slice(1);
		}
		const boot = clock.boot?.();
		await time.seen({ at: now(), wall: clock.wall(), ...(boot && { boot }) });
	}

	return {
		now,
		calendar: { ...record, now: clock.wall },
		observe,
		// The pause is left out.
		settled: async () => {},
		async prepare() {
			const { steps, lastSeen } = await time.read();
			record.load(steps);
			observedLocal = clock.now();
			observed = lastSeen ? Math.round(lastSeen.at + downtime(lastSeen)) : clock.wall();
			base = observed - observedLocal;
			observe();
			// Otherwise the loop repeats it.
			await unlessFull(save());
		},
		fault: () => undefined,
		services: [
			{
				start: saving.start,
				async stop() {
					await saving.stop();
					await save().catch(() => {});
				},
			},
		],
	};

	/** A down service's time passes. Without the machine's own time it is that of the day. */
	function downtime({ wall, boot }: LastSeen): number {
		const present = clock.boot?.();
		if (present && present.id === boot?.id && present.ms >= boot.ms) return present.ms - boot.ms;
		return Math.max(0, clock.wall() - wall);
	}
}
