import type { MachineGpu } from "../core/workers/gpus.ts";
import type { WorkerUsage } from "../core/workers/worker-usage.ts";
import type { Exit, Handle, Launcher, LauncherHosts, Notice, StraySearch, WorkerSpec } from "./launcher.ts";

type Prepare = Parameters<NonNullable<Launcher["prepare"]>>;
type OnHandle = Parameters<NonNullable<Launcher["onHandle"]>>[0];

/**
 * Stands for a launcher that is created when it is first needed: for an endpoint, a worker to take over, or a stray.
 * Most services use one or two of the platforms, and the others are not even imported. Before it is created it has no
 * workers, so everything else has an answer without it.
 */
export class LazyLauncher implements Launcher {
	readonly name: string;
	readonly hosts: LauncherHosts;
	readonly #create: () => Promise<Launcher>;
	#creating: Promise<Launcher> | undefined;
	#created: Launcher | undefined;
	#isClosed = false;
	readonly #exits: ((exit: Exit) => void)[] = [];
	readonly #notices: ((notice: Notice) => void)[] = [];
	readonly #handles: OnHandle[] = [];
	/** Passed on when it is created. */
	#drained: ReadonlySet<string> | undefined;
	#search: StraySearch | undefined;
	#prepare: Prepare | undefined;

	constructor(name: string, create: () => Promise<Launcher>) {
		this.name = name;
		this.#create = create;
		this.hosts = {
			views: () => this.#created?.hosts?.views() ?? [],
			setDrained: (names) => {
				this.#drained = names;
				this.#created?.hosts?.setDrained(names);
			},
		};
	}

	async start(spec: WorkerSpec): Promise<Handle> {
		return await (await this.#open()).start(spec);
	}

	async adopt(workerId: string, handle: Handle, serviceId: string): Promise<boolean> {
		return await (await this.#open()).adopt(workerId, handle, serviceId);
	}

	async removeStrays(search: StraySearch): Promise<number> {
		const isUnused = search.recorded.length === 0 && search.endpoints.length === 0;
		if (!isUnused || this.#creating) return await (await this.#open()).removeStrays(search);
		this.#search = search;
		return 0;
	}

	prepare(...prepare: Prepare): void {
		const [endpoints] = prepare;
		if (this.#created) return this.#created.prepare?.(...prepare);
		this.#prepare = prepare;
		// A start of a worker says why it could not be created.
		if (endpoints.length > 0) this.#open().catch(() => {});
	}

	async stop(workerId: string, graceMs: number): Promise<void> {
		await this.#created?.stop(workerId, graceMs);
	}

	async run(...command: Parameters<NonNullable<Launcher["run"]>>): Promise<void> {
		const launcher = await this.#open();
		if (!launcher.run) throw new Error(`The launcher ${this.name} runs no programs beside a worker.`);
		await launcher.run(...command);
	}

	async list(): Promise<string[]> {
		return (await this.#created?.list()) ?? [];
	}

	onExit(listener: (exit: Exit) => void): void {
		this.#exits.push(listener);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#notices.push(listener);
	}

	onHandle(listener: OnHandle): void {
		this.#handles.push(listener);
	}

	release(endpoint: string): void {
		this.#created?.release?.(endpoint);
	}

	async usage(...workers: Parameters<NonNullable<Launcher["usage"]>>): Promise<ReadonlyMap<string, WorkerUsage>> {
		return (await this.#created?.usage?.(...workers)) ?? new Map();
	}

	async machineGpus(): Promise<readonly MachineGpu[]> {
		return (await this.#created?.machineGpus?.()) ?? [];
	}

	async gpuMemory(workers: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
		return (await this.#created?.gpuMemory?.(workers)) ?? new Map();
	}

	setBusy(workerId: string, busy: boolean): void {
		this.#created?.setBusy?.(workerId, busy);
	}

	roomFor(...room: Parameters<NonNullable<Launcher["roomFor"]>>): readonly string[] {
		return this.#created?.roomFor?.(...room) ?? [];
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		const launcher = await this.#creating?.catch(() => undefined);
		await launcher?.close();
	}

	/** The next call tries again if it cannot be created. */
	#open(): Promise<Launcher> {
		if (this.#isClosed && !this.#creating) return Promise.reject(new Error("The service ends."));
		this.#creating ??= this.#opened().catch((error: unknown) => {
			this.#creating = undefined;
			throw error;
		});
		return this.#creating;
	}

	async #opened(): Promise<Launcher> {
		const launcher = await this.#create();
		for (const listener of this.#exits) launcher.onExit(listener);
		for (const listener of this.#notices) launcher.onNotice?.(listener);
		for (const listener of this.#handles) launcher.onHandle?.(listener);
		if (this.#search) await launcher.removeStrays(this.#search);
		if (this.#drained) launcher.hosts?.setDrained(this.#drained);
		this.#created = launcher;
		if (this.#prepare) launcher.prepare?.(...this.#prepare);
		return launcher;
	}
}
