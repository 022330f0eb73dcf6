/**
 * Runs workers as containers of a Docker daemon. They outlive the service, and are known again by
 * their labels (D25, D34).
 */
import type Docker from "dockerode";
import type { Clock } from "../../clock.ts";
import { dockerClient, daemonAddress, sentenceOf, statusOf } from "./client.ts";
import type { Container } from "./client.ts";
import { copyOutput } from "./output.ts";
import { containerOptions, LABELS } from "./container-options.ts";
import type { LauncherDependencies } from "../definition.ts";
import type { Exit, Launcher, WorkerSpec } from "../launcher.ts";
import type { DockerSettings } from "./settings.ts";
import { logPath, pruneLogs, tail } from "../log-files.ts";

/**
 * How often a daemon that does not answer is asked again, and a container whether its program
 * began, ms.
 */
const AGAIN_MS = 1000;
const BEGIN_MS = 10;
/** The grace is counted in steps of this many ms, so that a shorter one counts at once. */
const STEP_MS = 25;
/**
 * How long a container may survive SIGKILL, or a daemon be away when a container is to be ended,
 * ms.
 */
const KILL_TIMEOUT_MS = 10_000;

/** The process that the daemon puts before a worker's own. */
const INIT = /^\S*\b(docker-init|podman-init|catatonit|tini)\b/;

/** A worker under watch, from its start or adoption until its exit is reported. */
interface Worker {
	readonly id: string;
	readonly container: Container;
	graceLeftMs: number;
	/** The end under way, shared by all who ask for it. */
	ending: Promise<void> | undefined;
	/** Aborted when the container has ended. */
	readonly over: AbortController;
	/** Aborted when it is watched no more. */
	readonly left: AbortController;
	/** Resolves when its exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
}

/**
 * The `docker` launcher (D25). A handle is `{container}`. Containers of ended workers are removed,
 * their output is kept in `logDir`. `stop` rejects when the daemon does not answer for 10 s or the
 * container survives SIGKILL by 10 s. Before the first start, containers that bear the service's
 * label and are no worker's known here are removed.
 */
export function dockerLauncher({
	clock,
	logDir,
	log = () => {},
}: Pick<LauncherDependencies, "clock" | "logDir"> & Partial<LauncherDependencies>): Launcher {
	const workers = new Map<string, Worker>();
	const listeners: ((exit: Exit) => void)[] = [];
	const connected = dockerClient();
	let swept: Promise<unknown> | undefined;
	let closed = false;

	function add(id: string, container: Container): void {
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
		await remove(container).catch((error: unknown) =>
			log(`the container of worker ${id} was not removed: ${String(error)}`),
		);
		workers.delete(id);
		if (!closed) report({ workerId: id, ...how, lastOutput: tail(logPath(logDir, id)) + lastLine });
		worker.reported.resolve();
	}

	/**
	 * Copies the output of a container until it has ended; goes on when a daemon that went away is
	 * there again.
	 */
	async function endOf({
		id,
		container,
		left,
	}: Worker): Promise<{ code?: number; lastLine: string }> {
		for (let told = false; !left.signal.aborted; ) {
			try {
				await copyOutput(container, { logDir, workerId: id, signal: left.signal });
			} catch (error) {
				if (!told)
					log(
						`the output of worker ${id} could not be read, which is tried again: ${String(error)}`,
					);
				told = true;
			}
			try {
				// The output may end a moment before the container; when it broke off this is the pause
				// before the next try.
				await Promise.race([
					container.wait({ abortSignal: left.signal }),
					clock.sleep(AGAIN_MS, left.signal),
				]);
				const { State } = await container.inspect();
				if (!State.Running)
					return {
						code: State.ExitCode,
						lastLine: State.OOMKilled
							? "\nThe container was killed: it used more than its memory."
							: "",
					};
			} catch (error) {
				if (statusOf(error) === 404) return { lastLine: "" };
				await clock.sleep(AGAIN_MS, left.signal);
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

	/** Ends a container, or joins the end under way; the shorter grace counts. */
	function end(worker: Worker, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= graceThenKill(worker).catch(async (error: unknown) => {
			worker.ending = undefined;
			throw new Error(
				`worker ${worker.id} could not be ended: ${sentenceOf(error, await connected())}`,
				{ cause: error },
			);
		});
		return worker.ending;
	}

	async function graceThenKill(worker: Worker): Promise<void> {
		const { container, over } = worker;
		if (worker.graceLeftMs > 0) await signal(clock, container, "SIGTERM");
		while (worker.graceLeftMs > 0 && !over.signal.aborted) {
			await clock.sleep(Math.min(STEP_MS, worker.graceLeftMs), over.signal);
			worker.graceLeftMs -= STEP_MS;
		}
		if (over.signal.aborted) return;
		await signal(clock, container, "SIGKILL");
		await clock.sleep(KILL_TIMEOUT_MS, over.signal);
		if (!over.signal.aborted)
			throw new Error(`its container still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
	}

	/** Removes containers of the service whose workers are not watched here; returns how many. */
	async function sweep(serviceId: string): Promise<number> {
		const docker = await connected();
		const found = await docker.listContainers({
			all: true,
			filters: { label: [`${LABELS.service}=${serviceId}`] },
		});
		const strays = found.filter(({ Labels }) => !workers.has(Labels[LABELS.worker] ?? ""));
		for (const { Id } of strays) await remove(docker.getContainer(Id));
		return strays.length;
	}

	async function run(docker: Docker, spec: WorkerSpec<DockerSettings>): Promise<Container> {
		const place = await daemonAddress(docker, spec.settings, spec.url);
		const container = await docker.createContainer(containerOptions(spec, place));
		try {
			await container.start();
			await begun(clock, container);
			return container;
		} catch (error) {
			await remove(container).catch(() => {});
			throw error;
		}
	}

	return {
		name: "docker",

		async start(spec: WorkerSpec<DockerSettings>) {
			await pruneLogs(logDir, workers.keys(), clock.now());
			if (workers.has(spec.workerId)) throw new Error(`worker ${spec.workerId} already runs`);
			const docker = await connected();
			try {
				await (swept ??= sweep(spec.serviceId).catch((error: unknown) => {
					swept = undefined;
					throw error;
				}));
				const container = await run(docker, spec);
				add(spec.workerId, container);
				return { container: container.id };
			} catch (error) {
				throw new Error(
					`cannot start a worker of endpoint "${spec.endpoint}": ${sentenceOf(error, docker)}`,
					{ cause: error },
				);
			}
		},

		async adopt(workerId, handle) {
			const id = handle["container"];
			if (typeof id !== "string" || id === "") return false;
			if (workers.get(workerId)?.container.id === id) return true;
			const docker = await connected();
			const container = docker.getContainer(id);
			try {
				const { Config, State } = await container.inspect();
				if (Config.Labels[LABELS.worker] !== workerId) return false;
				if (State.Running) {
					add(workerId, container);
					return true;
				}
				await copyOutput(container, { logDir, workerId, signal: new AbortController().signal });
				await remove(container);
			} catch (error) {
				if (statusOf(error) !== 404)
					log(`worker ${workerId} was not taken over: ${sentenceOf(error, docker)}`);
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
			const running = new Set(
				(await (await connected()).listContainers({ filters: { label: [LABELS.worker] } })).map(
					({ Id }) => Id,
				),
			);
			return [...workers.values()]
				.filter(({ container }) => running.has(container.id))
				.map(({ id }) => id);
		},

		async removeStrays({ serviceId, recorded }) {
			// Most services use no containers: their daemon is not called before a first start.
			if (recorded.length === 0) return 0;
			try {
				const ended = sweep(serviceId);
				swept = ended;
				return await ended;
			} catch (error) {
				swept = undefined;
				log(`containers left behind were not removed: ${sentenceOf(error, await connected())}`);
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

/**
 * Resolves when the worker's program runs in place of the init process. Throws when it was not
 * found or may not be executed.
 */
async function begun(clock: Clock, container: Container): Promise<void> {
	for (;;) {
		try {
			const { Processes } = (await container.top()) as { Processes: string[][] };
			if (Processes.some((row) => !INIT.test(row.at(-1) ?? ""))) return;
		} catch {
			const { State, Config } = await container.inspect();
			// As a shell has it: 126 may not be executed, 127 was not found.
			if (State.Running || (State.ExitCode !== 126 && State.ExitCode !== 127)) return;
			throw new Error(
				`the command ${JSON.stringify(Config.Cmd ?? Config.Entrypoint)} was not found in the image, or may not be executed (exit code ${State.ExitCode})`,
			);
		}
		await clock.sleep(BEGIN_MS);
	}
}

/**
 * Sends a signal to a container; harmless when it has ended. A daemon that is being started anew
 * gets 10 s.
 */
async function signal(
	clock: Clock,
	container: Container,
	name: "SIGTERM" | "SIGKILL",
): Promise<void> {
	for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
		try {
			return void (await container.kill({ signal: name }));
		} catch (error) {
			const status = statusOf(error);
			if (status === 404 || status === 409) return;
			if (status !== undefined || waitedMs >= KILL_TIMEOUT_MS) throw error;
			await clock.sleep(AGAIN_MS);
		}
	}
}

/** Removes a container with its own volumes, running or not; harmless when it is gone or going. */
async function remove(container: Container): Promise<void> {
	try {
		await container.remove({ force: true, v: true });
	} catch (error) {
		if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
	}
}
