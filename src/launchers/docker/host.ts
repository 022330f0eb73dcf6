/**
 * One machine with a Docker daemon: whether it is reachable, and what is known about it (D44). An
 * unreachable host proves nothing about its workers.
 */
import { type HostGpu, type HostSettings, type HostView, LOCAL } from "../../core/hosts.ts";
import type { LocalMs, WallMs } from "../../core/time.ts";
import { connectionOf, connectionTo, type Env } from "./connection.ts";
import {
	type Daemon,
	type DaemonInfo,
	dockerDaemon,
	type ListedContainer,
	sentenceOf,
	unlessAborted,
	Unreachable,
} from "./daemon.ts";
import { LABELS } from "./container-options.ts";
import type { LauncherDependencies } from "../definition.ts";
import { dockerImages, type Images } from "./images/images.ts";
import { hasNvidia, readGpus } from "./gpus.ts";

/** Between two checks, also while the host is unreachable, and for the answer to one, ms. */
const CHECK_MS = 5000;
const PROBE_MS = 2000;
const ANSWER_MS = 10_000;
/** Patience of a start of the service with hosts that do not answer, ms. */
const PATIENCE_MS = 3000;
/** Age at which images and disk space are read again, ms. */
const FACTS_MS = 60_000;

export interface DockerHost {
	readonly name: string;
	readonly settings: HostSettings;
	/** Its calls fail at once while the host is unreachable. */
	readonly daemon: Daemon;
	/** Checks it repeatedly from now on; resolves after the first check that is over. */
	checked(): Promise<void>;
	isReachable(): boolean;
	/** Returns how long it has been unreachable; undefined if it is not, or not checked yet. */
	unreachableMs(): number | undefined;
	/** Resolves when it is reachable, or `signal` aborts. */
	reachable(signal: AbortSignal): Promise<void>;
	/** Checks it now, as if it returned: something may be left behind there. */
	recheck(): Promise<void>;
	/** Undefined: not read yet. */
	gpus(): readonly HostGpu[] | undefined;
	/** Why they could not be read. */
	gpuFault(): string | undefined;
	/** Reads them in a container of this image, unless they are known. */
	findGpus(image: string): Promise<void>;
	/** Containers that any service gave GPUs, as of the last check. */
	gpuContainers(): readonly ListedContainer[];
	images(): readonly string[];
	/** Pulls of images there. */
	readonly pulls: Images;
	view(): Pick<
		HostView,
		"name" | "labels" | "address" | "state" | "since" | "fault" | "images" | "freeDisk" | "version"
	>;
	/** Why a call failed, for the operator. */
	sentence(error: unknown): string;
	close(): void;
}

export interface HostDeps extends Pick<LauncherDependencies, "clock" | "registryLogin"> {
	env: Env;
	log: (message: string) => void;
	/** It is reachable again, or for the first time: before anything starts there. May fail. */
	onReturn(host: DockerHost): Promise<void>;
	/** After each check. */
	onChecked(host: DockerHost): void;
}

/** Throws an Error for an address that is not valid. */
export function dockerHost(name: string, settings: HostSettings, d: HostDeps): DockerHost {
	const { clock } = d;
	const { docker, tls, labels = [] } = settings;
	const connection =
		docker === undefined
			? connectionOf(d.env)
			: connectionTo(docker, { env: d.env, secure: tls !== undefined, certificates: tls });
	const fix = name === LOCAL ? undefined : `correct hosts.${name}.docker`;
	const stopped = new AbortController();
	let session = aborted(new Unreachable(`host ${name} is not connected yet`));
	let isUp = false;
	let fault: string | undefined;
	let downSince: LocalMs | undefined;
	let since: WallMs | undefined;
	let waiters = Promise.withResolvers<void>();
	let first: Promise<void> | undefined;
	/** The last check that was requested. */
	let last: Promise<void> = Promise.resolve();

	let info: DaemonInfo = {};
	let images: string[] = [];
	let freeDisk: number | undefined;
	let factsAt: LocalMs = -Infinity;
	let gpus = settings.gpus;
	let gpuFault: string | undefined;
	let findingGpus: Promise<void> | undefined;
	let gpuContainers: ListedContainer[] = [];

	const daemon = dockerDaemon(connection, () => session.signal);
	const where = name === LOCAL ? "" : ` on ${name}`;
	const pulls = dockerImages({ ...d, daemon: () => daemon, where });
	const sentence = (error: unknown): string => sentenceOf(error, { address: connection.address, ...(fix && { fix }) });

	async function readFacts(): Promise<void> {
		if (gpus?.length !== 0) gpuContainers = await daemon.list({ label: LABELS.gpus });
		if (clock.now() - factsAt < FACTS_MS) return;
		info = await daemon.info();
		images = await daemon.images();
		freeDisk = await daemon.freeDisk(info).catch(() => undefined);
		if (!hasNvidia(info)) gpus ??= [];
		else if (settings.gpuImage !== undefined) await findGpus(settings.gpuImage);
		factsAt = clock.now();
	}

	async function findGpus(image: string): Promise<void> {
		if (gpus !== undefined) return;
		findingGpus ??= readGpus(daemon, image)
			.then(
				(found) => {
					gpus = found;
					gpuFault = undefined;
				},
				(error: unknown) => void (gpuFault = sentence(error)),
			)
			.finally(() => (findingGpus = undefined));
		await findingGpus;
	}

	function check(host: DockerHost): Promise<void> {
		last = last.then(() => checkNow(host));
		return last;
	}

	async function checkNow(host: DockerHost): Promise<void> {
		try {
			await daemon.ping({ timeoutMs: ANSWER_MS });
			if (session.signal.aborted) session = new AbortController();
			await readFacts();
			if (!isUp) {
				await d.onReturn(host);
				arrive();
			}
		} catch (error) {
			leave(sentence(error));
		}
		if (!stopped.signal.aborted) d.onChecked(host);
	}

	function arrive(): void {
		if (downSince !== undefined) d.log(`host ${name} is reachable again`);
		isUp = true;
		fault = downSince = undefined;
		since = clock.wall();
		waiters.resolve();
	}

	function leave(why: string): void {
		fault = why;
		const reason = new Unreachable(`host ${name} is unreachable: ${why}`);
		session.abort(reason);
		session = aborted(reason);
		hold();
		if (downSince !== undefined || stopped.signal.aborted) return;
		d.log(`host ${name} is unreachable: ${why}`);
		downSince = clock.now();
		since = clock.wall();
	}

	/** Nothing starts there until the next check. */
	function hold(): void {
		if (isUp) waiters = Promise.withResolvers();
		isUp = false;
	}

	async function checkOn(host: DockerHost): Promise<void> {
		while (!stopped.signal.aborted) {
			await clock.sleep(isUp ? CHECK_MS : PROBE_MS, stopped.signal);
			if (!stopped.signal.aborted) await check(host);
		}
	}

	return {
		name,
		settings,
		daemon,
		checked() {
			if (first === undefined) {
				first = check(this);
				void first.then(() => checkOn(this));
			}
			return first;
		},
		isReachable: () => isUp,
		unreachableMs: () => (downSince === undefined ? undefined : clock.now() - downSince),
		async reachable(signal) {
			if (!isUp && !signal.aborted) await unlessAborted(waiters.promise, signal).catch(() => {});
		},
		recheck() {
			hold();
			return check(this);
		},
		gpus: () => gpus,
		gpuFault: () => gpuFault,
		findGpus,
		gpuContainers: () => gpuContainers,
		images: () => images,
		pulls,
		view: () => ({
			name,
			labels,
			address: connection.address,
			state:
				first === undefined
					? "unused"
					: downSince !== undefined
						? "unreachable"
						: since === undefined
							? "connecting"
							: "reachable",
			since,
			fault,
			images,
			freeDisk,
			version: info.ServerVersion,
		}),
		sentence,
		close() {
			stopped.abort();
			pulls.close();
			daemon.close();
		},
	};
}

/** Waits for hosts while the service starts, but not long for those that do not answer. */
export async function patiently(clock: HostDeps["clock"], checks: Promise<unknown>): Promise<void> {
	const over = new AbortController();
	// A timer that is left would keep a service that stops alive.
	await Promise.race([checks, clock.sleep(PATIENCE_MS, over.signal)]).finally(() => over.abort());
}

/** Ids of the GPUs that a container was given by a service of ours. */
export function gpusOf({ Labels }: Pick<ListedContainer, "Labels">): string[] {
	return (Labels[LABELS.gpus] ?? "").split(",").filter((each) => each !== "");
}

function aborted(reason: Error): AbortController {
	const controller = new AbortController();
	controller.abort(reason);
	return controller;
}
