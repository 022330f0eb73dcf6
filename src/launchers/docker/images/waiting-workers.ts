/**
 * A launcher of one daemon with pulls: a worker whose image must be pulled is accepted at once and
 * waits; its container is created afterwards (D45).
 */
import type { WorkerReasonCode } from "../../../core/workers/worker-reason.ts";
import { containerName } from "../container-options.ts";
import { dockerDaemon } from "../daemon.ts";
import type { Daemon } from "../daemon.ts";
import { dockerLauncher } from "../launcher.ts";
import type { LauncherDependencies } from "../../definition.ts";
import type { Exit, Launcher, Notice, WorkerSpec } from "../../launcher.ts";
import type { DockerSettings } from "../settings.ts";
import { dockerImages } from "./images.ts";
import type { Images } from "./images.ts";
import { prePulls } from "./pre-pull.ts";

/** A worker that waits for its image. */
interface Waiting {
	/** Aborted by a stop. */
	unwanted: AbortController;
	/** Resolves when its container runs, or its end was reported. */
	over: Promise<void>;
}

/** The launcher `docker`. */
export function createDocker(d: LauncherDependencies): Launcher {
	let daemonOnce: Daemon | undefined;
	const daemon = (): Daemon => (daemonOnce ??= dockerDaemon(d.serviceEnv));
	return withPulls(dockerLauncher(d), { ...d, images: dockerImages({ ...d, daemon }) });
}

/** `launcher`: starts workers whose image is present, and adopts containers by name. */
export function withPulls(
	launcher: Launcher,
	d: Pick<LauncherDependencies, "clock" | "log"> & { images: Images },
): Launcher {
	const { images, log } = d;
	const early = prePulls(d);
	const waiting = new Map<string, Waiting>();
	const exitListeners: ((exit: Exit) => void)[] = [];
	const noticeListeners: ((notice: Notice) => void)[] = [];
	let closed = false;

	function notify<T extends { workerId: string }>(listeners: ((what: T) => void)[], what: T): void {
		if (closed) return;
		for (const listener of listeners) {
			try {
				listener(what);
			} catch (error) {
				log(`a listener for worker ${what.workerId} failed: ${String(error)}`);
			}
		}
	}

	async function pullAndStart(
		spec: WorkerSpec<DockerSettings>,
		{ signal }: AbortController,
	): Promise<void> {
		const { workerId } = spec;
		let code: WorkerReasonCode = "image_pull";
		try {
			await images.pull(spec.settings.image, {
				signal,
				onProgress: (reason) => notify(noticeListeners, { workerId, state: "waiting", ...reason }),
			});
			code = "start_failed";
			await launcher.start(spec);
		} catch (error) {
			const { message } = error as Error;
			waiting.delete(workerId);
			return notify(exitListeners, {
				workerId,
				lastOutput: "",
				...(!signal.aborted && { reason: { code, message, crash: true } }),
			});
		}
		waiting.delete(workerId);
		notify(noticeListeners, { workerId, state: "running" });
	}

	return {
		...launcher,

		async start(spec: WorkerSpec<DockerSettings>) {
			const { workerId, settings } = spec;
			if (waiting.has(workerId)) throw new Error(`worker ${workerId} already waits for its image`);
			// If its daemon does not answer, the start says so.
			const mustPull = await images
				.mustPull(settings.image, settings.pullPolicy)
				.catch(() => false);
			if (!mustPull) return await launcher.start(spec);
			const unwanted = new AbortController();
			const over = pullAndStart(spec, unwanted);
			waiting.set(workerId, { unwanted, over });
			return { container: containerName(workerId) };
		},

		async stop(workerId, graceMs) {
			const found = waiting.get(workerId);
			found?.unwanted.abort();
			await found?.over;
			await launcher.stop(workerId, graceMs);
		},

		onExit(listener) {
			exitListeners.push(listener);
			launcher.onExit(listener);
		},

		onNotice(listener) {
			noticeListeners.push(listener);
			launcher.onNotice?.(listener);
		},

		prepare: early.prepare,

		async close() {
			closed = true;
			early.close();
			images.close();
			await launcher.close();
		},
	};
}
