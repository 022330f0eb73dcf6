/** Images of one daemon. Workers that wait for the same image share one pull (D45). */
import { imageName } from "../../../kernel/core/access/image-registry.ts";
import type { WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import type { LauncherDependencies } from "../../../kernel/launchers/definition.ts";
import { jsonLines } from "../../../kernel/launchers/platform-streams.ts";
import { type Daemon, sentenceOf, statusOf, unlessAborted } from "../daemon.ts";
import type { DockerSettings } from "../settings.ts";
import { type PullLine, pullProgress } from "./progress.ts";
import { type FailedPull, pullFault } from "./pull-texts.ts";

const REPORT_MS = 1000;
/** A pull without progress for this time fails, ms. Docker itself waits without end. */
const STALL_MS = 300_000;

export type Images = ReturnType<typeof dockerImages>;

interface Pull {
	done: Promise<void>;
	cancel: AbortController;
	reason: WorkerReason;
	listeners: Set<(reason: WorkerReason) => void>;
}

/** Settings of a pull. */
export type ImageSource = Pick<DockerSettings, "image" | "registry">;

interface ImagesOptions extends Pick<LauncherDependencies, "clock" | "registryLogin"> {
	daemon: () => Daemon;
	where?: string;
}

export function dockerImages({ clock, daemon, registryLogin, where = "" }: ImagesOptions) {
	/** Pulls in progress, by image and login. */
	const pulls = new Map<string, Pull>();
	const listeners: ((image: string) => void)[] = [];
	const closed = new AbortController();

	function begin(source: ImageSource): Pull {
		const { image } = source;
		const pull: Pull = {
			done: Promise.resolve(),
			cancel: new AbortController(),
			reason: pullProgress(image, where).reason(),
			listeners: new Set(),
		};
		pull.done = run(source, pull.cancel.signal, (reason) => {
			pull.reason = reason;
			for (const listener of pull.listeners) listener(reason);
		}).finally(() => remove(source, pull));
		// Without this, a failed pull that no worker awaits any more would end the process.
		pull.done.catch(() => {});
		pulls.set(keyOf(source), pull);
		for (const listener of listeners) listener(image);
		return pull;
	}

	function remove(source: ImageSource, pull: Pull): void {
		if (pulls.get(keyOf(source)) === pull) pulls.delete(keyOf(source));
	}

	async function run(
		{ image, registry: id }: ImageSource,
		cancelled: AbortSignal,
		report: (reason: WorkerReason) => void,
	): Promise<void> {
		const over = new AbortController();
		const progress = pullProgress(image, where);
		let movedAt = clock.now();
		let reportedAt = -Infinity;
		let isStalled = false;

		async function watch(): Promise<void> {
			while (!over.signal.aborted && !isStalled) {
				await clock.sleep(movedAt + STALL_MS - clock.now(), over.signal);
				isStalled = clock.now() - movedAt >= STALL_MS;
			}
			over.abort();
		}

		function read(line: PullLine): void {
			if (line.error !== undefined) throw new PullError(line.error);
			progress.read(line);
			movedAt = clock.now();
			if (movedAt - reportedAt < REPORT_MS) return;
			reportedAt = movedAt;
			report(progress.reason());
		}

		const { registry, repository, version } = imageName(image);
		const login = await registryLogin?.(registry, id);
		try {
			const signal = AbortSignal.any([over.signal, closed.signal, cancelled]);
			void watch();
			const stream = await daemon().pull({ repository, version, login, signal });
			for await (const line of jsonLines<PullLine>(stream, `the Docker daemon${where}`)) read(line);
		} catch (error) {
			throw new Error(sentence(error, { image, username: login?.username, login: id, isStalled }));
		} finally {
			over.abort();
		}
	}

	function sentence(error: unknown, { isStalled, ...q }: Omit<FailedPull, "text"> & { isStalled: boolean }): string {
		const { image } = q;
		if (closed.signal.aborted) return "the service stops";
		if (isStalled) return `the pull of image ${image}${where} made no progress for ${STALL_MS / 60_000} minutes`;
		if (error instanceof PullError || statusOf(error) !== undefined)
			return pullFault({ ...q, text: (error as Error).message, where });
		return sentenceOf(error, daemon());
	}

	return {
		/** Whether the image must be pulled. Throws an Error with a sentence if the daemon does not answer. */
		async mustPull(image: string, policy: DockerSettings["pullPolicy"] = "never"): Promise<boolean> {
			if (policy !== "missing") return policy === "always";
			try {
				await daemon().image(image);
				return false;
			} catch (error) {
				if (statusOf(error) === 404) return true;
				throw new Error(sentenceOf(error, daemon()));
			}
		},

		/**
		 * Joins the pull in progress or begins one. Rejects if it fails or the signal aborts. A pull without waiters is
		 * cancelled.
		 */
		async pull(
			source: ImageSource,
			{ signal, onProgress = () => {} }: { signal: AbortSignal; onProgress?: (reason: WorkerReason) => void },
		): Promise<void> {
			signal.throwIfAborted();
			const pull = pulls.get(keyOf(source)) ?? begin(source);
			onProgress(pull.reason);
			pull.listeners.add(onProgress);
			try {
				await unlessAborted(pull.done, signal);
			} finally {
				pull.listeners.delete(onProgress);
				if (pull.listeners.size === 0) {
					remove(source, pull);
					pull.cancel.abort();
				}
			}
		},

		onPull: (listener: (image: string) => void) => void listeners.push(listener),

		close: () => closed.abort(),
	};
}

function keyOf({ image, registry = "" }: ImageSource): string {
	return `${registry} ${image}`;
}

class PullError extends Error {}
