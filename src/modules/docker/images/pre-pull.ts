/** Pulls images before their first worker is needed, on every host where it may start (D45). */
import type { Clock } from "../../../kernel/system/clock.ts";
import type { Launcher } from "../../../kernel/launchers/launcher.ts";
import type { DockerHost } from "../hosts/host.ts";
import type { DockerSettings } from "../settings.ts";

const PAUSE_MS = [5000, 60_000] as const;

type Prepare = NonNullable<Launcher["prepare"]>;
type Report = Parameters<Prepare>[1];

interface Task {
	settings: DockerSettings;
	stop: AbortController;
	wake: AbortController;
}

function isWanted({ pullPolicy = "never", prePull = true }: DockerSettings): boolean {
	return prePull && pullPolicy !== "never";
}

export function prePulls(d: {
	clock: Clock;
	log: (message: string) => void;
	hostsOf: (settings: DockerSettings) => readonly DockerHost[];
}): { prepare: Prepare; close: () => void } {
	/** Includes tasks that are done. */
	const tasks = new Map<DockerHost, Map<string, Task>>();

	function tasksOn(host: DockerHost): Map<string, Task> {
		const present = tasks.get(host);
		if (present) return present;
		const own = new Map<string, Task>();
		tasks.set(host, own);
		// The result of a worker's pull of the same image counts here too.
		host.pulls.onPull((image) => {
			for (const { settings, wake } of own.values()) if (settings.image === image) wake.abort();
		});
		return own;
	}

	async function run({ pulls }: DockerHost, endpoint: string, task: Task, report: Report): Promise<void> {
		const { image, pullPolicy } = task.settings;
		const { signal } = task.stop;
		let logged: string | undefined;
		for (let pauseMs: number = PAUSE_MS[0]; !signal.aborted; ) {
			try {
				if (await pulls.mustPull(image, pullPolicy))
					await pulls.pull(task.settings, { signal, onProgress: (reason) => report(endpoint, reason) });
				if (!signal.aborted) report(endpoint, undefined);
				return;
			} catch (error) {
				if (signal.aborted) return;
				const { message } = error as Error;
				if (message !== logged) d.log(`endpoint ${endpoint} has no image yet: ${message}`);
				logged = message;
				report(endpoint, { code: "image_pull", message });
			}
			task.wake = new AbortController();
			await d.clock.sleep(pauseMs, AbortSignal.any([signal, task.wake.signal]));
			pauseMs = Math.min(2 * pauseMs, PAUSE_MS[1]);
		}
	}

	function prepareOn(host: DockerHost, wanted: ReadonlyMap<string, DockerSettings>, report: Report): void {
		const own = tasksOn(host);
		for (const [id, { settings, stop }] of own) {
			const { image, pullPolicy, registry } = wanted.get(id) ?? {};
			const isSameLogin = registry === settings.registry;
			if (image === settings.image && pullPolicy === settings.pullPolicy && isSameLogin) continue;
			stop.abort();
			own.delete(id);
			report(id, undefined);
		}
		for (const [id, settings] of wanted) {
			if (own.has(id)) continue;
			const task = { settings, stop: new AbortController(), wake: new AbortController() };
			own.set(id, task);
			void run(host, id, task, report);
		}
	}

	return {
		prepare(endpoints, report) {
			const wanted = new Map([...tasks.keys()].map((host) => [host, new Map<string, DockerSettings>()]));
			for (const endpoint of endpoints) {
				const settings = endpoint.settings as DockerSettings;
				for (const host of isWanted(settings) ? d.hostsOf(settings) : [])
					wanted.set(host, (wanted.get(host) ?? new Map<string, DockerSettings>()).set(endpoint.id, settings));
			}
			for (const [host, own] of wanted) {
				tasksOn(host);
				// The fault of an unreachable host is reported by the workers that need it.
				const reportOf: Report = (endpoint, reason) => report(endpoint, host.isReachable ? reason : undefined);
				if (host.isReachable) prepareOn(host, own, reportOf);
				else void host.checked().then(() => prepareOn(host, own, reportOf));
			}
		},
		close() {
			for (const own of tasks.values()) for (const { stop } of own.values()) stop.abort();
		},
	};
}
