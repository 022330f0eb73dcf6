/** The pretend platform, which outlives services, and its launcher. */
import type { LauncherDependencies } from "../../../src/kernel/launchers/definition.ts";
import {
	type Exit,
	type Launcher,
	type Notice,
	PlatformUnavailable,
	type WorkerSpec,
} from "../../../src/kernel/launchers/launcher.ts";
import { roomInPool } from "../../../src/kernel/launchers/room.ts";
import { sdkWorker, type SdkWorker } from "../../support/sdk-worker.ts";
import type { PretendSettings } from "./index.ts";

type Spec = WorkerSpec<PretendSettings>;

/** What runs on the platform, by number of the run. */
export const platform = new Map<number, { spec: Omit<Spec, "env">; worker?: SdkWorker }>();
let runs = 0;
/** Whether the platform answers, and whether it lets new workers wait; the test sets it. */
export const state = { reachable: true, queueing: false };
/** Calls of `adopt`, `stop`, `removeStrays` and `setBusy`. */
export const calls: string[] = [];
/** What the platform reports to the launcher that was made last. */
export const announce = {
	notice: (() => {}) as (notice: Notice) => void,
	exit: (() => {}) as (exit: Exit) => void,
	/** Runs a worker that waits. */
	run: (() => {}) as (workerId: string) => void,
};

/** Starts a run that no service recorded. */
export function startStray(spec: Omit<Spec, "env">): void {
	platform.set((runs += 1), { spec });
}

export function pretendLauncher({ clock }: Pick<LauncherDependencies, "clock">): Launcher {
	const watched = new Map<string, number>();
	const listeners: ((exit: Exit) => void)[] = [];
	const queue = new Map<string, () => void>();
	announce.run = (workerId) => queue.get(workerId)?.();
	announce.exit = (exit) => {
		const run = watched.get(exit.workerId);
		watched.delete(exit.workerId);
		if (run !== undefined) void end(run).then(() => listeners.forEach((listener) => listener(exit)));
	};

	async function end(run: number): Promise<void> {
		await platform.get(run)?.worker?.kill();
		platform.delete(run);
	}

	return {
		name: "pretend",
		async start({ env, ...spec }: Spec) {
			if (!state.reachable) throw new PlatformUnavailable("the pretend platform does not answer");
			const run = (runs += 1);
			const handler = async ({ input }: { input: any }): Promise<unknown> => {
				if (input.holdMs !== undefined) await clock.sleep(input.holdMs);
				if (input.fail !== undefined) throw new Error(String(input.fail));
				return { ran: input };
			};
			const work = (): void => {
				const worker = sdkWorker({
					env: { ...env },
					handler,
					sleep: (ms, signal) => clock.sleep(ms, signal),
				});
				platform.set(run, { spec, worker });
			};
			platform.set(run, { spec });
			if (state.queueing) queue.set(spec.workerId, work);
			else work();
			watched.set(spec.workerId, run);
			return { run };
		},
		async adopt(workerId, { run }) {
			const same = platform.get(Number(run))?.spec.workerId === workerId;
			calls.push(`adopt ${workerId}: ${same}`);
			if (same) watched.set(workerId, Number(run));
			return same;
		},
		async stop(workerId) {
			calls.push(`stop ${workerId}`);
			if (!state.reachable) throw new PlatformUnavailable("the pretend platform does not answer");
			const run = watched.get(workerId);
			if (run === undefined) return;
			watched.delete(workerId);
			await end(run);
			for (const listener of listeners) listener({ workerId, code: 0, lastOutput: "" });
		},
		list: async () => [...watched.keys()],
		async removeStrays({ serviceId }) {
			const own = [...platform].filter(([, { spec }]) => spec.serviceId === serviceId);
			const strays = own.filter(([, { spec }]) => !watched.has(spec.workerId));
			for (const [run] of strays) await end(run);
			calls.push(`removeStrays: ${strays.length}`);
			return strays.length;
		},
		onExit(listener) {
			listeners.push(listener);
		},
		onNotice(listener) {
			announce.notice = listener;
		},
		roomFor: (q) => roomInPool(q, (settings) => (settings as PretendSettings).partition),
		setBusy(workerId, busy) {
			calls.push(`setBusy ${workerId}: ${busy}`);
		},
		close: async () => watched.clear(),
	};
}
