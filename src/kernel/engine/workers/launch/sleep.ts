/**
 * Puts idle workers to sleep and wakes them (D28). What it asks of a worker is stored before and after, with the
 * worker's handle: a service that dies in between ends the worker at its next start, because nothing shows whether it
 * uses its GPUs. One that fails, or takes too long, is stopped, and has its GPUs until it has ended.
 */
import type { SleepSettings } from "../../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../../lib/time.ts";
import { ADAPTER_COMMAND, type Handle } from "../../../launchers/launcher.ts";
import { shownText } from "./shown-text.ts";
import { isStarting, type Worker } from "../worker-registry.ts";
import { beginSleep, beginWake, cancelSleep, completeSleep, completeWake } from "../worker-transitions.ts";
import type { WorkersContext } from "../workers-context.ts";
import { POLLS_OUT_MS, type WorkerLauncher } from "./launch.ts";
import { ASLEEP_SINCE, UNSURE } from "./take-over.ts";
import { launchHash } from "../../endpoints/launch-hash.ts";

/** The commands of an adapter. Other workers have theirs in the settings of their endpoint. */
const DEFAULT_COMMANDS = { command: [ADAPTER_COMMAND, "sleep"], wakeCommand: [ADAPTER_COMMAND, "wake"] };

export type WorkerSleep = ReturnType<typeof workerSleep>;

export function workerSleep(d: WorkersContext & { launcher: WorkerLauncher }) {
	const { registry, endpoints, events, now, launcher } = d;

	const settingsOf = ({ endpoint }: Worker): SleepSettings | undefined =>
		endpoints.has(endpoint) ? endpoints.get(endpoint).sleep : undefined;

	/** Undefined: it is awake. */
	async function record(worker: Worker, since: EpochMs | typeof UNSURE | undefined): Promise<void> {
		const row = (await d.store.workers.list()).find(({ id }) => id === worker.id);
		if (row?.handle === undefined || registry.get(worker) !== worker) throw new Error("it has ended.");
		const { [ASLEEP_SINCE]: _, ...handle } = JSON.parse(row.handle) as Handle;
		const noted = { ...handle, ...(since !== undefined && { [ASLEEP_SINCE]: since }) };
		await d.store.workers.put({ ...row, handle: JSON.stringify(noted) });
	}

	async function run(worker: Worker, name: keyof typeof DEFAULT_COMMANDS): Promise<void> {
		const { endpoint, id, launcher: type } = worker;
		const sleep = settingsOf(worker);
		if (!sleep) throw new Error("its endpoint has no sleep any more.");
		await record(worker, UNSURE);
		const { launcher: settings } = endpoints.get(endpoint);
		const command = sleep[name] ?? DEFAULT_COMMANDS[name];
		await d.launchers.get(type)!.run!(id, { settings, command, timeoutMs: sleep.timeoutMs });
	}

	function stop(worker: Worker, what: string, error: unknown): void {
		// It may have ended meanwhile, or is being stopped.
		if (registry.get(worker) !== worker || launcher.isLeaving(worker)) return;
		const graceMs = endpoints.stopGraceMs(worker.endpoint);
		const why = shownText(worker, `${what}: ${(error as Error).message}`);
		d.background.run(`stopping ${worker.id}`, launcher.stop(worker, { why, graceMs, code: "unhealthy" }));
	}

	async function fallAsleep(worker: Worker, began: EpochMs): Promise<void> {
		const { endpoint, id } = worker;
		try {
			await d.clock.sleep(POLLS_OUT_MS);
			// A claim was answered before its poll ended.
			if (worker.held.size > 0) {
				cancelSleep(worker);
				return emitWoken(worker, began);
			}
			await run(worker, "command");
			// Before it can be woken, which stores that it is.
			await record(worker, now());
			completeSleep(worker, now());
			delete worker.excess;
			events.emit("worker.asleep", { endpoint, worker: id, ms: now() - began });
		} catch (error) {
			stop(worker, "it did not fall asleep", error);
		}
	}

	async function wakeUp(worker: Worker, began: EpochMs): Promise<void> {
		try {
			await run(worker, "wakeCommand");
			await record(worker, undefined);
			completeWake(worker, { now: now(), began });
			emitWoken(worker, began);
		} catch (error) {
			stop(worker, "it did not wake up", error);
		}
	}

	function emitWoken(worker: Worker, began: EpochMs): void {
		events.emit("worker.woken", { endpoint: worker.endpoint, worker: worker.id, ms: now() - began });
	}

	return {
		settingsOf,
		isAsleep: (worker: Worker): boolean => worker.sleep?.state === "asleep" && !launcher.isLeaving(worker),
		/** Whether it can sleep, now that it is idle. One that is to be stopped can, where the reason allows it. */
		isPossible(worker: Worker): boolean {
			const { endpoint, gpus, held, notice, unhealthy, sleep, launchedAs } = worker;
			return (
				settingsOf(worker) !== undefined &&
				gpus.length > 0 &&
				held.size === 0 &&
				sleep === undefined &&
				notice === undefined &&
				!unhealthy &&
				!isStarting(worker) &&
				!launcher.isStopping(worker) &&
				launchedAs === launchHash(endpoints.get(endpoint))
			);
		},
		begin(worker: Worker, why: string): void {
			launcher.keep(worker);
			if (!beginSleep(worker, now())) return;
			events.emit("worker.falling_asleep", { endpoint: worker.endpoint, worker: worker.id, why });
			d.background.run(`putting ${worker.id} to sleep`, fallAsleep(worker, now()));
		},
		/** It has its GPUs from now on. `roomSince`: see `Worker`. */
		wake(worker: Worker, roomSince: EpochMs | undefined): void {
			if (!beginWake(worker, { now: now(), roomSince })) return;
			d.background.run(`waking ${worker.id}`, wakeUp(worker, now()));
		},
	};
}
