/** The pretend platform, which outlives services, and its launcher. */
import type { LauncherDependencies } from "../../../src/launchers/definition.ts";
import type { Exit, Launcher, WorkerSpec } from "../../../src/launchers/launcher.ts";
import { sdkWorker } from "../../support/sdk-worker.ts";
import type { SdkWorker } from "../../support/sdk-worker.ts";
import type { PretendSettings } from "./index.ts";

type Spec = WorkerSpec<PretendSettings>;

/** What runs on the platform, by number of the run. */
export const platform = new Map<number, { spec: Omit<Spec, "env">; worker?: SdkWorker }>();
let runs = 0;
/** Whether the platform answers; the test sets it. */
export const state = { reachable: true };
/** Calls of `adopt`, `stop` and `removeStrays`. */
export const calls: string[] = [];

/** Starts a run that no service recorded. */
export function startStray(spec: Omit<Spec, "env">): void {
	platform.set((runs += 1), { spec });
}

export function pretendLauncher({ clock }: Pick<LauncherDependencies, "clock">): Launcher {
	const watched = new Map<string, number>();
	const listeners: ((exit: Exit) => void)[] = [];

	async function end(run: number): Promise<void> {
		await platform.get(run)?.worker?.kill();
		platform.delete(run);
	}

	return {
		name: "pretend",
		async start({ env, ...spec }: Spec) {
			const run = (runs += 1);
			const handler = ({ input }: { input: unknown }): unknown => ({ ran: input });
			const worker = sdkWorker({
				env: { ...env },
				handler,
				sleep: (ms, signal) => clock.sleep(ms, signal),
			});
			platform.set(run, { spec, worker });
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
			if (!state.reachable) throw new Error("the pretend platform does not answer");
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
		close: async () => watched.clear(),
	};
}
