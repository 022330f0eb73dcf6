/**
 * One machine with a Docker daemon: whether it is reachable, and what is known about it (D44). An
 * unreachable host proves nothing about its workers.
 */
import { type HostGpu, type HostSettings, type HostView, LOCAL } from "../../core/hosts.ts";
import type { LocalMs, WallMs } from "../../core/time.ts";
import { type Connection, connectionOf, connectionTo, type Env } from "./connection.ts";
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

/** Interval of checks, of those while the host is unreachable, and timeout of one, ms. */
const CHECK_MS = 5000;
const PROBE_MS = 2000;
const ANSWER_MS = 10_000;
/** Timeout of a list: a daemon that hangs may still answer pings, ms. */
const LIST_MS = 60_000;
/** Maximum wait for hosts that do not answer while the service starts, ms. */
const START_MS = 3000;
/** Age at which images and disk space are read again, ms. */
const FACTS_MS = 60_000;

/** What a host needs of its launcher. */
export interface HostDeps extends Pick<LauncherDependencies, "clock" | "registryLogin"> {
	env: Env;
	log: (message: string) => void;
	/** It is reachable again, or for the first time: before anything starts there. May fail. */
	onReturn(host: DockerHost): Promise<void>;
	/** After each check. */
	onChecked(host: DockerHost): void;
}

export class DockerHost {
	readonly name: string;
	readonly settings: HostSettings;
	/** Its calls fail at once while the host is unreachable. */
	readonly daemon: Daemon;
	/** Pulls of images there. */
	readonly pulls: Images;
	isReachable = false;
	/** Undefined: not read yet. */
	gpus: readonly HostGpu[] | undefined;
	/** Why they could not be read. */
	gpuFault: string | undefined;
	/** Containers that any service gave GPUs, as of the last check. */
	gpuContainers: readonly ListedContainer[] = [];
	images: readonly string[] = [];
	readonly #d: HostDeps;
	readonly #connection: Connection;
	readonly #stopped = new AbortController();
	/** Aborted while the host is unreachable. */
	#session: AbortController;
	#fault: string | undefined;
	#downSince: LocalMs | undefined;
	#since: WallMs | undefined;
	/** Resolves when the host is reachable. */
	#returned = Promise.withResolvers<void>();
	#first: Promise<void> | undefined;
	/** The last check that was requested. */
	#last: Promise<void> = Promise.resolve();
	#info: DaemonInfo = {};
	#freeDisk: number | undefined;
	#factsAt: LocalMs = -Infinity;
	#findingGpus: Promise<void> | undefined;

	/** Throws an Error for an address that is not valid. */
	constructor(name: string, settings: HostSettings, d: HostDeps) {
		const { docker, tls, gpus } = settings;
		this.name = name;
		this.settings = settings;
		this.gpus = gpus;
		this.#d = d;
		this.#connection =
			docker === undefined
				? connectionOf(d.env)
				: connectionTo(docker, { env: d.env, secure: tls !== undefined, certificates: tls });
		this.#session = aborted(new Unreachable(`host ${name} is not connected yet`));
		this.daemon = dockerDaemon(this.#connection, () => this.#session.signal);
		const where = name === LOCAL ? "" : ` on ${name}`;
		this.pulls = dockerImages({ ...d, daemon: () => this.daemon, where });
	}

	/** Checks it repeatedly from now on; resolves after the first check that is over. */
	checked(): Promise<void> {
		if (this.#first === undefined) {
			this.#first = this.#check();
			void this.#first.then(() => this.#checkRepeatedly());
		}
		return this.#first;
	}

	/** Checks it now, as if it returned: something may be left behind there. */
	recheck(): Promise<void> {
		this.#hold();
		return this.#check();
	}

	/** Returns how long it has been unreachable; undefined if it is not, or not checked yet. */
	unreachableMs(): number | undefined {
		return this.#downSince === undefined ? undefined : this.#d.clock.now() - this.#downSince;
	}

	/** Resolves when it is reachable, or `signal` aborts. */
	async reachable(signal: AbortSignal): Promise<void> {
		if (!this.isReachable && !signal.aborted) await unlessAborted(this.#returned.promise, signal).catch(() => {});
	}

	/** Reads its GPUs in a container of this image, unless they are known. */
	async findGpus(image: string): Promise<void> {
		if (this.gpus !== undefined) return;
		this.#findingGpus ??= readGpus(this.daemon, image)
			.then(
				(found) => {
					this.gpus = found;
					this.gpuFault = undefined;
				},
				(error: unknown) => void (this.gpuFault = this.sentence(error)),
			)
			.finally(() => (this.#findingGpus = undefined));
		await this.#findingGpus;
	}

	view(): Pick<
		HostView,
		"name" | "labels" | "address" | "state" | "since" | "fault" | "images" | "freeDisk" | "version"
	> {
		return {
			name: this.name,
			labels: this.settings.labels ?? [],
			address: this.#connection.address,
			state: this.#state(),
			since: this.#since,
			fault: this.#fault,
			images: [...this.images],
			freeDisk: this.#freeDisk,
			version: this.#info.ServerVersion,
		};
	}

	/** Why a call failed, for the operator. */
	sentence(error: unknown): string {
		const fix = this.name === LOCAL ? undefined : `correct hosts.${this.name}.docker`;
		return sentenceOf(error, { address: this.#connection.address, ...(fix && { fix }) });
	}

	close(): void {
		this.#stopped.abort();
		this.pulls.close();
		this.daemon.close();
	}

	#state(): HostView["state"] {
		if (this.#first === undefined) return "unused";
		if (this.#downSince !== undefined) return "unreachable";
		return this.#since === undefined ? "connecting" : "reachable";
	}

	#check(): Promise<void> {
		this.#last = this.#last.then(() => this.#checkNow());
		return this.#last;
	}

	async #checkNow(): Promise<void> {
		try {
			await this.daemon.ping({ timeoutMs: ANSWER_MS });
			if (this.#session.signal.aborted) this.#session = new AbortController();
			await this.#readFacts();
			if (!this.isReachable) {
				await this.#d.onReturn(this);
				this.#arrive();
			}
		} catch (error) {
			this.#leave(this.sentence(error));
		}
		if (!this.#stopped.signal.aborted) this.#d.onChecked(this);
	}

	async #checkRepeatedly(): Promise<void> {
		const { signal } = this.#stopped;
		while (!signal.aborted) {
			await this.#d.clock.sleep(this.isReachable ? CHECK_MS : PROBE_MS, signal);
			if (!signal.aborted) await this.#check();
		}
	}

	async #readFacts(): Promise<void> {
		const { daemon } = this;
		if (this.gpus?.length !== 0) this.gpuContainers = await this.#inTime(daemon.list({ label: LABELS.gpus }));
		if (this.#d.clock.now() - this.#factsAt < FACTS_MS) return;
		this.#info = await this.#inTime(daemon.info());
		this.images = await this.#inTime(daemon.images());
		this.#freeDisk = await this.#inTime(daemon.freeDisk(this.#info)).catch(() => undefined);
		if (!hasNvidia(this.#info)) this.gpus ??= [];
		else if (this.settings.gpuImage !== undefined) await this.findGpus(this.settings.gpuImage);
		this.#factsAt = this.#d.clock.now();
	}

	/** Rejects when the answer takes longer than {@link LIST_MS}. */
	async #inTime<T>(answer: Promise<T>): Promise<T> {
		const [late, over] = [new AbortController(), new AbortController()];
		void this.#d.clock.sleep(LIST_MS, over.signal).then(() => late.abort(new DOMException("", "TimeoutError")));
		return await unlessAborted(answer, late.signal).finally(() => over.abort());
	}

	#arrive(): void {
		if (this.#downSince !== undefined) this.#d.log(`host ${this.name} is reachable again`);
		this.isReachable = true;
		this.#fault = this.#downSince = undefined;
		this.#since = this.#d.clock.wall();
		this.#returned.resolve();
	}

	#leave(why: string): void {
		this.#fault = why;
		const reason = new Unreachable(`host ${this.name} is unreachable: ${why}`);
		this.#session.abort(reason);
		this.#session = aborted(reason);
		this.#hold();
		if (this.#downSince !== undefined || this.#stopped.signal.aborted) return;
		this.#d.log(`host ${this.name} is unreachable: ${why}`);
		this.#downSince = this.#d.clock.now();
		this.#since = this.#d.clock.wall();
	}

	/** Nothing starts there until the next check. */
	#hold(): void {
		if (this.isReachable) this.#returned = Promise.withResolvers();
		this.isReachable = false;
	}
}

/** Waits for checks of hosts while the service starts, at most {@link START_MS}. */
export async function withTimeout(clock: HostDeps["clock"], checks: Promise<unknown>): Promise<void> {
	const over = new AbortController();
	// A timer that is left would keep a service that stops alive.
	await Promise.race([checks, clock.sleep(START_MS, over.signal)]).finally(() => over.abort());
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
