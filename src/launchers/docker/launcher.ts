/**
 * Runs workers as Docker containers, found by their labels. They outlive the service (D25, D34).
 */
import type { Clock } from "../../clock.ts";
import { dockerDaemon, sentenceOf, statusOf } from "./daemon.ts";
import type { Daemon } from "./daemon.ts";
import { containerContext } from "./network.ts";
import { copyOutput } from "./output.ts";
import { containerOptions, LABELS } from "./container-options.ts";
import type { LauncherDependencies } from "../definition.ts";
import type { Exit, Launcher, WorkerSpec } from "../launcher.ts";
import type { DockerSettings } from "./settings.ts";
import { logPath, pruneLogs, tail } from "../log-files.ts";

/** Pause between calls to an unresponsive daemon, ms. */
const RETRY_MS = 1000;
/** Poll interval of {@link begun}, ms. */
const BEGIN_MS = 10;
/** Step of the grace countdown, ms: the delay until a shortened grace takes effect. */
const STEP_MS = 25;
/** Limit for a container to end after SIGKILL, and for retries of a signal, ms. */
const KILL_TIMEOUT_MS = 10_000;

const INIT = /^\S*\b(docker-init|podman-init|catatonit|tini)\b/;

/** A watched worker, from start or adoption until its exit is reported. */
interface Worker {
	readonly id: string;
	readonly container: string;
	graceLeftMs: number;
	/** Shared by concurrent stops. */
	ending: Promise<void> | undefined;
	/** Aborted when the container has ended. */
	readonly over: AbortController;
	/** Aborted when it is no longer watched. */
	readonly left: AbortController;
	/** Resolves when the exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
}

/**
 * The `docker` launcher (D25). A handle is `{container}`, an id or a name. Containers of ended workers are removed;
 * their output stays in `logDir`. Strays are removed before the first start at the latest.
 */
export function dockerLauncher({ clock, logDir, serviceEnv, log }: LauncherDependencies): Launcher {
	const workers = new Map<string, Worker>();
	const listeners: ((exit: Exit) => void)[] = [];
	let daemonOnce: Daemon | undefined;
	const daemon = (): Daemon => (daemonOnce ??= dockerDaemon(serviceEnv));
	const sentence = (error: unknown): string =>
		sentenceOf(error, daemonOnce?.address ?? "DOCKER_HOST");
	let swept: Promise<unknown> | undefined;
	let closed = false;

	function add(id: string, container: string): void {
		const worker: Worker = {
			id,
			container,
			graceLeftMs: Infinity,
			ending: undefined,
			over: new AbortController(),
			left: new AbortController(),
			reported: Promise.withResolvers(),
		};
		workers.set(id, worker);
		void watch(worker);
	}

	async function watch(worker: Worker): Promise<void> {
		const { id, container, over, left } = worker;
		const { lastLine, ...how } = await endOf(worker);
		if (left.signal.aborted) return;
		over.abort();
		await remove(daemon(), container).catch((error: unknown) =>
			log(`the container of worker ${id} was not removed: ${String(error)}`),
		);
		workers.delete(id);
		if (!closed) report({ workerId: id, ...how, lastOutput: tail(logPath(logDir, id)) + lastLine });
		worker.reported.resolve();
	}

	/** Copies output until the container ends; retries while the daemon is unavailable. */
	async function endOf({
		id,
		container,
		left,
	}: Worker): Promise<{ code?: number; lastLine: string }> {
		for (let logged = false; !left.signal.aborted; ) {
			try {
				await copyOutput(daemon(), container, { logDir, workerId: id, signal: left.signal });
			} catch (error) {
				if (!logged)
					log(`the output of worker ${id} could not be read, trying again: ${String(error)}`);
				logged = true;
			}
			try {
				// Output may end just before the container. If copying failed, this is the pause.
				await Promise.race([
					daemon().wait(container, left.signal),
					clock.sleep(RETRY_MS, left.signal),
				]);
				const { State } = await daemon().inspect(container);
				if (!State.Running)
					return {
						code: State.ExitCode,
						lastLine: State.OOMKilled
							? "\nThe container was killed: it used more than its memory."
							: "",
					};
			} catch (error) {
				if (statusOf(error) === 404) return { lastLine: "" };
				await clock.sleep(RETRY_MS, left.signal);
			}
		}
		return { lastLine: "" };
	}

	function report(exit: Exit): void {
		for (const listener of listeners) {
			try {
				listener(exit);
			} catch (error) {
				log(`a listener for the exit of worker ${exit.workerId} failed: ${String(error)}`);
			}
		}
	}

	/** Ends a container or joins the stop in progress; the shorter grace applies. */
	function end(worker: Worker, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= graceThenKill(worker).catch((error: unknown) => {
			worker.ending = undefined;
			throw new Error(`worker ${worker.id} could not be ended: ${sentence(error)}`, {
				cause: error,
			});
		});
		return worker.ending;
	}

	async function graceThenKill(worker: Worker): Promise<void> {
		const { container, over } = worker;
		if (worker.graceLeftMs > 0) await signal(clock, daemon(), container, "SIGTERM");
		while (worker.graceLeftMs > 0 && !over.signal.aborted) {
			await clock.sleep(Math.min(STEP_MS, worker.graceLeftMs), over.signal);
			worker.graceLeftMs -= STEP_MS;
		}
		if (over.signal.aborted) return;
		await signal(clock, daemon(), container, "SIGKILL");
		// A paused container may refuse the signal, or not act on it.
		const thawed = await daemon()
			.unpause(container)
			.then(
				() => true,
				() => false,
			);
		if (thawed) await signal(clock, daemon(), container, "SIGKILL");
		await clock.sleep(KILL_TIMEOUT_MS, over.signal);
		if (!over.signal.aborted)
			throw new Error(`its container still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
	}

	/** Removes the service's containers not watched here; returns how many. */
	async function sweep(serviceId: string): Promise<number> {
		const found = await daemon().list({ label: `${LABELS.service}=${serviceId}`, all: true });
		const strays = found.filter(({ Labels }) => !workers.has(Labels[LABELS.worker] ?? ""));
		for (const { Id } of strays) await remove(daemon(), Id);
		return strays.length;
	}

	/** Returns the container id. */
	async function run(spec: WorkerSpec<DockerSettings>): Promise<string> {
		const context = await containerContext(daemon(), spec.settings, spec.url);
		const container = await daemon().create(containerOptions(spec, context));
		try {
			await daemon().start(container);
			await begun(clock, daemon(), container);
			return container;
		} catch (error) {
			await remove(daemon(), container).catch(() => {});
			throw error;
		}
	}

	return {
		name: "docker",

		async start(spec: WorkerSpec<DockerSettings>) {
			await pruneLogs(logDir, workers.keys(), clock.wall());
			if (workers.has(spec.workerId)) throw new Error(`worker ${spec.workerId} already runs`);
			try {
				await (swept ??= sweep(spec.serviceId).catch((error: unknown) => {
					swept = undefined;
					throw error;
				}));
				const container = await run(spec);
				add(spec.workerId, container);
				return { container };
			} catch (error) {
				const why = sentence(error);
				throw new Error(`cannot start a worker of endpoint "${spec.endpoint}": ${why}`, {
					cause: error,
				});
			}
		},

		async adopt(workerId, handle) {
			const container = handle["container"];
			if (typeof container !== "string" || container === "") return false;
			if (workers.get(workerId)?.container === container) return true;
			try {
				const { Id, Config, State } = await daemon().inspect(container);
				if (Config.Labels[LABELS.worker] !== workerId) return false;
				if (State.Running) {
					if (workers.get(workerId)?.container !== Id) add(workerId, Id);
					return true;
				}
				const { signal } = new AbortController();
				await copyOutput(daemon(), Id, { logDir, workerId, signal });
				await remove(daemon(), Id);
			} catch (error) {
				if (statusOf(error) !== 404) log(`worker ${workerId} was not adopted: ${sentence(error)}`);
			}
			return false;
		},

		async stop(workerId, graceMs) {
			const worker = workers.get(workerId);
			if (!worker) return;
			await end(worker, graceMs);
			await worker.reported.promise;
		},

		async list() {
			if (workers.size === 0) return [];
			const running = new Set((await daemon().list({ label: LABELS.worker })).map(({ Id }) => Id));
			return [...workers.values()]
				.filter(({ container }) => running.has(container))
				.map(({ id }) => id);
		},

		async removeStrays({ serviceId, recorded }) {
			// Most services use no containers: do not call their daemon.
			if (recorded.length === 0) return 0;
			try {
				const ended = sweep(serviceId);
				swept = ended;
				return await ended;
			} catch (error) {
				swept = undefined;
				log(`containers left behind were not removed: ${sentence(error)}`);
				return 0;
			}
		},

		onExit(listener) {
			listeners.push(listener);
		},

		async close() {
			closed = true;
			for (const worker of workers.values()) {
				if (worker.ending) continue;
				worker.left.abort();
				workers.delete(worker.id);
			}
		},
	};
}

/** Resolves when the program has replaced the init process; throws if it cannot be executed. */
async function begun(clock: Clock, daemon: Daemon, container: string): Promise<void> {
	for (;;) {
		try {
			const rows = await daemon.top(container);
			if (rows.some((row) => !INIT.test(row.at(-1) ?? ""))) return;
		} catch {
			const { State, Config } = await daemon.inspect(container);
			// Shell convention: 126 not executable, 127 not found.
			if (State.Running || (State.ExitCode !== 126 && State.ExitCode !== 127)) return;
			const command = JSON.stringify(Config.Cmd ?? Config.Entrypoint);
			throw new Error(
				`the command ${command} was not found in the image, or may not be executed (exit code ${State.ExitCode})`,
			);
		}
		await clock.sleep(BEGIN_MS);
	}
}

/** No error if the container has ended. Waits 10 s for a restarting daemon. */
async function signal(
	clock: Clock,
	daemon: Daemon,
	container: string,
	name: "SIGTERM" | "SIGKILL",
): Promise<void> {
	for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
		try {
			return await daemon.kill(container, name);
		} catch (error) {
			const status = statusOf(error);
			if (status === 404 || status === 409) return;
			if (status !== undefined || waitedMs >= KILL_TIMEOUT_MS) throw error;
			await clock.sleep(RETRY_MS);
		}
	}
}

/** No error if it is missing or being removed. */
async function remove(daemon: Daemon, container: string): Promise<void> {
	try {
		await daemon.remove(container);
	} catch (error) {
		if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
	}
}
