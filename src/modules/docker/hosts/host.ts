/** One machine with a Docker daemon (D44). An unreachable host proves nothing about its workers. */
import type { GpuPart } from "../../../kernel/core/workers/gpu-part.ts";
import { type HostGpu, type HostView, LOCAL } from "../../../kernel/core/workers/hosts.ts";
import type { HostSettings } from "./host-schema.ts";
import type { LocalMs, WallMs } from "../../../kernel/lib/time.ts";
import { type Connection, connectionOf, connectionTo } from "./connection.ts";
import { type Daemon, type DaemonInfo, dockerDaemon, type ListedContainer } from "../daemon.ts";
import { sentenceOf, unlessAborted, Unreachable } from "../daemon-calls.ts";
import { LABELS } from "../container-options.ts";
import type { LauncherDependencies } from "../../../kernel/launchers/definition.ts";
import type { AdapterContent } from "../images/adapter-files.ts";
import { type AdapterImage, adapterImage } from "../images/adapter-image.ts";
import { dockerImages, type Images } from "../images/images.ts";
import { type Transfers, transfers } from "../images/transfers.ts";
import { hasNvidia, readGpus } from "./gpus.ts";
import { type Removals, removals } from "./removals.ts";
import type { Env } from "../../../kernel/lib/env.ts";

/** Check interval, the interval while unreachable, and the timeout of a check, ms. */
const CHECK_MS = 5000;
const PROBE_MS = 2000;
const ANSWER_MS = 10_000;
/** A daemon that hangs may still answer pings, so lists have their own timeout, ms. */
const LIST_MS = 60_000;
/** Maximum wait at the service's start for hosts that do not answer, ms. */
const START_MS = 3000;
const FACTS_MS = 60_000;

/** States of containers that have no GPUs. A container that was only created will get its GPUs next. */
const ENDED = ["exited", "dead"];

export interface HostDeps extends Pick<LauncherDependencies, "clock" | "registryLogin"> {
	env: Env;
	log: (message: string) => void;
	/** Called when the host is reachable again or for the first time, before anything starts there. May fail. */
	onReturn(host: DockerHost): Promise<void>;
	onChecked(host: DockerHost): void;
	/** Called when the GPUs of the host were read, or could not be read. */
	onGpusRead(): void;
	/** Rejects with a sentence if the adapter's image cannot be made here. */
	adapterContent(): Promise<AdapterContent>;
}

export class DockerHost {
	readonly name: string;
	readonly settings: HostSettings;
	readonly daemon: Daemon;
	readonly pulls: Images;
	readonly adapterImage: AdapterImage;
	readonly removals: Removals;
	isReachable = false;
	/** Set to false once the daemon could not raise a limit, such as a rootless daemon or one in a container. */
	raisesLimits = true;
	/** GPUs of the host; undefined until they were read. */
	gpus: readonly HostGpu[] | undefined;
	gpuFault: string | undefined;
	/** Containers of any service that have GPUs or will get some, as of the last reading. */
	gpuContainers: readonly ListedContainer[] = [];
	images: readonly string[] = [];
	readonly #d: HostDeps;
	readonly #connection: Connection;
	readonly #transfers: Transfers;
	readonly #stopped = new AbortController();
	/** Aborted while the host is unreachable. */
	#session: AbortController;
	#fault: string | undefined;
	#downSince: LocalMs | undefined;
	#since: WallMs | undefined;
	#returned = Promise.withResolvers<void>();
	#first: Promise<void> | undefined;
	#last: Promise<void> = Promise.resolve();
	#info: DaemonInfo = {};
	#freeDisk: number | undefined;
	#factsAt: LocalMs = -Infinity;
	#findingGpus: Promise<void> | undefined;

	/** Throws an Error for an invalid address. */
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
		this.#transfers = transfers(d.clock);
		const images = { daemon: () => this.daemon, transfers: this.#transfers, where };
		this.pulls = dockerImages({ ...images, ...d });
		this.adapterImage = adapterImage({ ...images, content: d.adapterContent });
		this.removals = removals({ daemon: this.daemon, log: d.log, where });
	}

	get isThisMachine(): boolean {
		return this.#connection.isLocal;
	}

	checked(): Promise<void> {
		if (this.#first === undefined) {
			this.#first = this.#check();
			void this.#first.then(() => this.#checkRepeatedly());
		}
		return this.#first;
	}

	/** Checks the host now as if it had just become reachable again: containers may be left behind there. */
	recheck(): Promise<void> {
		this.#hold();
		return this.#check();
	}

	unreachableMs(): number | undefined {
		return this.#downSince === undefined ? undefined : this.#d.clock.now() - this.#downSince;
	}

	async reachable(signal: AbortSignal): Promise<void> {
		if (!this.isReachable && !signal.aborted) await unlessAborted(this.#returned.promise, signal).catch(() => {});
	}

	async findGpus(image: string): Promise<void> {
		if (this.gpus !== undefined) return;
		this.#findingGpus ??= readGpus(this.daemon, image, this.#d.clock)
			.then(
				(found) => {
					this.gpus = found;
					this.gpuFault = undefined;
				},
				(error: unknown) => void (this.gpuFault = this.sentence(error)),
			)
			.finally(() => {
				this.#findingGpus = undefined;
				if (!this.#stopped.signal.aborted) this.#d.onGpusRead();
			});
		await this.#findingGpus;
	}

	async readGpuContainers(): Promise<void> {
		const listed = await this.#inTime(this.daemon.list({ label: LABELS.gpus, all: true }));
		this.gpuContainers = listed.filter(({ State = "" }) => !ENDED.includes(State));
	}

	view() {
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

	sentence(error: unknown): string {
		const fix = this.name === LOCAL ? undefined : `correct hosts.${this.name}.docker`;
		return sentenceOf(error, { address: this.#connection.address, ...(fix && { fix }) });
	}

	close(): void {
		this.#stopped.abort();
		this.#transfers.close();
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
			if (this.isReachable) await this.removals.retry();
			else {
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
		if (this.gpus?.length !== 0) await this.readGpuContainers();
		if (this.#d.clock.now() - this.#factsAt < FACTS_MS) return;
		this.#info = await this.#inTime(daemon.info());
		this.images = await this.#inTime(daemon.images());
		this.#freeDisk = await this.#inTime(daemon.freeDisk(this.#info)).catch(() => undefined);
		if (!hasNvidia(this.#info)) this.gpus ??= [];
		// Other endpoints need no GPUs, so the check does not wait for them.
		else if (this.settings.gpuImage !== undefined) void this.findGpus(this.settings.gpuImage);
		this.#factsAt = this.#d.clock.now();
	}

	/** Awaits an answer; rejects if it takes longer than {@link LIST_MS}. */
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

	/** Keeps workers from starting on the host until the next check. */
	#hold(): void {
		if (this.isReachable) this.#returned = Promise.withResolvers();
		this.isReachable = false;
	}
}

export async function withTimeout(clock: HostDeps["clock"], checks: Promise<unknown>, ms = START_MS): Promise<void> {
	const over = new AbortController();
	// A leftover timer would keep a stopping service alive.
	await Promise.race([checks, clock.sleep(ms, over.signal)]).finally(() => over.abort());
}

/** Returns the GPUs that a container has, and how much of each. */
export function gpusOf({ Labels }: Pick<ListedContainer, "Labels">): GpuPart & { gpus: string[] } {
	const memory = Labels[LABELS.gpuMemory];
	return {
		gpus: (Labels[LABELS.gpus] ?? "").split(",").filter((each) => each !== ""),
		memoryGb: memory === undefined ? undefined : Number(memory),
	};
}

function aborted(reason: Error): AbortController {
	const controller = new AbortController();
	controller.abort(reason);
	return controller;
}
