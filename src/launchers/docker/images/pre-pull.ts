/** Pulls images of endpoints before their first worker is needed (D45). */
import type { Clock } from "../../../clock.ts";
import type { EndpointWorkers, Launcher } from "../../launcher.ts";
import type { DockerHost } from "../host.ts";
import type { DockerSettings } from "../settings.ts";
import type { Images } from "./images.ts";

/** First and longest pause after a failure, ms; doubled each time. */
const PAUSE_MS = [5000, 60_000] as const;

type Prepare = NonNullable<Launcher["prepare"]>;
type Report = Parameters<Prepare>[1];

interface Task {
	settings: DockerSettings;
	stop: AbortController;
	/** Ends the pause. */
	wake: AbortController;
}

export function isWanted({ pullPolicy = "never", prePull = true }: DockerSettings): boolean {
	return prePull && pullPolicy !== "never";
}

function isSame(one: DockerSettings, other: DockerSettings): boolean {
	return one.image === other.image && one.pullPolicy === other.pullPolicy;
}

/** Pulls ahead at one daemon. */
export function prePulls({ clock, images, log }: { clock: Clock; images: Images; log: (message: string) => void }): {
	prepare: Prepare;
	close: () => void;
} {
	/** Tasks by endpoint, also those that are done. */
	const tasks = new Map<string, Task>();

	// A worker's pull of the same image: its result counts here too.
	images.onPull((image) => {
		for (const { settings, wake } of tasks.values()) if (settings.image === image) wake.abort();
	});

	async function run(endpoint: string, task: Task, report: Report): Promise<void> {
		const { image, pullPolicy } = task.settings;
		const { signal } = task.stop;
		let logged: string | undefined;
		for (let pauseMs: number = PAUSE_MS[0]; !signal.aborted; ) {
			try {
				if (await images.mustPull(image, pullPolicy))
					await images.pull(image, {
						signal,
						onProgress: (reason) => report(endpoint, reason),
					});
				if (!signal.aborted) report(endpoint, undefined);
				return;
			} catch (error) {
				if (signal.aborted) return;
				const { message } = error as Error;
				if (message !== logged) log(`endpoint ${endpoint} has no image yet: ${message}`);
				logged = message;
				report(endpoint, { code: "image_pull", message });
			}
			task.wake = new AbortController();
			await clock.sleep(pauseMs, AbortSignal.any([signal, task.wake.signal]));
			pauseMs = Math.min(2 * pauseMs, PAUSE_MS[1]);
		}
	}

	function prepare(endpoints: readonly EndpointWorkers[], report: Report): void {
		const wanted = new Map(
			endpoints
				.map(({ id, settings }) => [id, settings as DockerSettings] as const)
				.filter(([, settings]) => isWanted(settings)),
		);
		for (const [id, task] of tasks) {
			const settings = wanted.get(id);
			if (settings && isSame(settings, task.settings)) continue;
			task.stop.abort();
			tasks.delete(id);
			report(id, undefined);
		}
		for (const [id, settings] of wanted) {
			if (tasks.has(id)) continue;
			const task = { settings, stop: new AbortController(), wake: new AbortController() };
			tasks.set(id, task);
			void run(id, task, report);
		}
	}

	return {
		prepare,
		close() {
			for (const { stop } of tasks.values()) stop.abort();
		},
	};
}

/** On every host where workers of an endpoint may start. `hostsOf`: those hosts. */
export function prePullsOnHosts(d: {
	clock: Clock;
	log: (message: string) => void;
	hostsOf: (settings: DockerSettings) => readonly DockerHost[];
}): { prepare: Prepare; close: () => void } {
	const ofHost = new Map<DockerHost, ReturnType<typeof prePulls>>();

	function prepare(endpoints: readonly EndpointWorkers[], report: Report): void {
		const wanted = new Map<DockerHost, EndpointWorkers[]>([...ofHost.keys()].map((host) => [host, []]));
		// Other endpoints need no connection yet.
		for (const endpoint of endpoints) {
			const settings = endpoint.settings as DockerSettings;
			for (const host of isWanted(settings) ? d.hostsOf(settings) : []) {
				const list = wanted.get(host) ?? [];
				list.push(endpoint);
				wanted.set(host, list);
			}
		}
		for (const [host, list] of wanted) {
			const pulls = ofHost.get(host) ?? prePulls({ ...d, images: host.pulls });
			ofHost.set(host, pulls);
			const begin = (): void =>
				pulls.prepare(list, (endpoint, reason) =>
					// What is wrong with a host that is not reachable is the reason of workers that need it.
					report(endpoint, host.isReachable ? reason : undefined),
				);
			if (host.isReachable) begin();
			else void host.checked().then(begin);
		}
	}

	return {
		prepare,
		close() {
			for (const each of ofHost.values()) each.close();
		},
	};
}
