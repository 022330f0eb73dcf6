/**
 * A simulated process: it can be paused, and killed before or after any of its actions that others
 * see (messages to the database, answers, webhooks, starts of workers). What it awaits then never
 * resolves.
 */
import type { Clock } from "../../src/kernel/system/clock.ts";
import { type Event, sleepOn, type World } from "./world.ts";

export class Process {
	alive = true;
	readonly world: World;
	private pausedUntil = 0;
	/** Time in which the machine was suspended, ms. */
	private suspended = 0;
	private fuse: { left: number; before: boolean } | undefined;
	private readonly endings: (() => void)[] = [];

	constructor(world: World) {
		this.world = world;
	}

	after(ms: number, run: () => void): Event {
		const event = this.world.after(ms, () => this.fire(event, run));
		return event;
	}

	private fire(event: Event, run: () => void): void {
		if (!this.alive) return;
		const late = this.pausedUntil - this.world.now;
		if (late <= 0) return run();
		this.world.after(late, () => {
			if (event.run) this.fire(event, run);
		});
	}

	/** An action that others see; false when it does not happen because the process is dead. */
	act(): boolean {
		if (!this.alive) return false;
		if (!this.fuse) return true;
		this.fuse.left -= 1;
		if (this.fuse.left > 0) return true;
		const { before } = this.fuse;
		this.kill();
		return !before;
	}

	/** Dies at its next action but `actions`: before it or after it. */
	killAt(actions: number, before: boolean): void {
		this.fuse = { left: actions + 1, before };
	}

	kill(): void {
		if (!this.alive) return;
		this.alive = false;
		for (const end of this.endings) end();
	}

	onEnd(run: () => void): void {
		this.endings.push(run);
	}

	/** Does not run for this time; with `suspend` the machine's monotonic clock stands still too. */
	pause(ms: number, { suspend }: { suspend: boolean }): void {
		this.pausedUntil = Math.max(this.pausedUntil, this.world.now + ms);
		if (suspend) this.suspended += ms;
	}

	readonly clock: Clock = {
		now: () => Math.floor(this.world.now - this.suspended),
		wall: () => Math.floor(this.world.now + this.world.wallAhead),
		sleep: (ms, signal) => sleepOn((delay, run) => this.after(delay, run), ms, signal),
	};
}
