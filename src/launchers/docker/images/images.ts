/**
 * Images of one daemon: whether one is present, and pulls, of each image one at a time, shared by
 * the workers that wait for it (D45).
 */
import { imageName } from "../../../core/image-name.ts";
import type { WorkerReason } from "../../../core/workers/worker-reason.ts";
import type { LauncherDependencies } from "../../definition.ts";
import { jsonLines } from "../../platform-streams.ts";
import { type Daemon, sentenceOf, statusOf } from "../daemon.ts";
import type { DockerSettings } from "../settings.ts";
import { pullFault } from "./faults.ts";
import { type PullLine, pullProgress } from "./progress.ts";

/** Least time between two reports of progress, ms. */
const REPORT_MS = 1000;
/** A pull that does not go on for so long has failed, ms. Docker itself would wait without end. */
const STALL_MS = 300_000;

export type Images = ReturnType<typeof dockerImages>;

/** In progress. */
interface Pull {
	done: Promise<void>;
	cancel: AbortController;
	reason: WorkerReason;
	listeners: Set<(reason: WorkerReason) => void>;
}

/** `where`: of several hosts, such as ` on rig1`. */
export function dockerImages({
	clock,
	daemon,
	registryLogin,
	where = "",
}: Pick<LauncherDependencies, "clock" | "registryLogin"> & {
	daemon: () => Daemon;
	where?: string;
}) {
	const pulls = new Map<string, Pull>();
	const listeners: ((image: string) => void)[] = [];
	const closed = new AbortController();

	function begin(image: string): Pull {
		const pull: Pull = {
			done: Promise.resolve(),
			cancel: new AbortController(),
			reason: pullProgress(image, where).reason(),
			listeners: new Set(),
		};
		pull.done = run(image, pull.cancel.signal, (reason) => {
			pull.reason = reason;
			for (const listener of pull.listeners) listener(reason);
		}).finally(() => remove(image, pull));
		// All who wait for it may have left.
		pull.done.catch(() => {});
		pulls.set(image, pull);
		for (const listener of listeners) listener(image);
		return pull;
	}

	function remove(image: string, pull: Pull): void {
		if (pulls.get(image) === pull) pulls.delete(image);
	}

	async function run(image: string, cancelled: AbortSignal, report: (reason: WorkerReason) => void): Promise<void> {
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
		const login = await registryLogin?.(registry);
		try {
			const signal = AbortSignal.any([over.signal, closed.signal, cancelled]);
			void watch();
			const stream = await daemon().pull({ repository, version, login, signal });
			for await (const line of jsonLines<PullLine>(stream, `the Docker daemon${where}`)) read(line);
		} catch (error) {
			throw new Error(sentence(error, { image, username: login?.username, isStalled }));
		} finally {
			over.abort();
		}
	}

	function sentence(error: unknown, q: { image: string; username: string | undefined; isStalled: boolean }): string {
		const { image, username, isStalled } = q;
		if (closed.signal.aborted) return "the service stops";
		if (isStalled) return `the pull of image ${image}${where} made no progress for ${STALL_MS / 60_000} minutes`;
		if (error instanceof PullError || statusOf(error) !== undefined)
			return pullFault({ image, text: (error as Error).message, username, where });
		return sentenceOf(error, daemon());
	}

	return {
		/** Whether a worker must wait for a pull. Throws a sentence if the daemon does not answer. */
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
		 * Joins the pull of the image in progress, or begins one. Rejects with a sentence if it fails, or
		 * when the signal aborts; a pull that no one waits for any more is cancelled.
		 */
		async pull(
			image: string,
			{ signal, onProgress = () => {} }: { signal: AbortSignal; onProgress?: (reason: WorkerReason) => void },
		): Promise<void> {
			const pull = pulls.get(image) ?? begin(image);
			const left = Promise.withResolvers<never>();
			const leave = (): void => left.reject(new Error("it is not needed any more"));
			if (signal.aborted) leave();
			signal.addEventListener("abort", leave, { once: true });
			onProgress(pull.reason);
			pull.listeners.add(onProgress);
			try {
				await Promise.race([pull.done, left.promise]);
			} finally {
				pull.listeners.delete(onProgress);
				signal.removeEventListener("abort", leave);
				if (pull.listeners.size === 0) {
					remove(image, pull);
					pull.cancel.abort();
				}
			}
		},

		/** Called with the image when a pull begins. */
		onPull: (listener: (image: string) => void) => void listeners.push(listener),

		/** Ends all pulls. */
		close: () => closed.abort(),
	};
}

/** Docker reports it among the lines. */
class PullError extends Error {}
