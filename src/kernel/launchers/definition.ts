/**
 * What a launcher declares about itself. Implementations are imported dynamically to keep reading a definition
 * cheap.
 */
import type { Clock } from "../system/clock.ts";
import type { Endpoint, LauncherSettings } from "../core/endpoints/endpoint.ts";
import type { Finding } from "../core/finding.ts";
import type { RegistryLogin } from "../core/access/image-registry.ts";
import type { Fault, Schema } from "../lib/schema.ts";
import type { Launcher } from "./launcher.ts";
import type { Env } from "../lib/env.ts";

export interface LauncherDependencies {
	clock: Clock;
	logDir: string;
	/** Folder for named volumes on this machine. Default: volumes. */
	volumeDir?: string;
	/** Environment without secrets, for workers on the same machine. */
	serviceEnv: Readonly<Record<string, string>>;
	/** Undefined: the registry needs no login (D45). `id`: of a login of the management API, whatever the registry. */
	registryLogin?: (registry: string, id?: string) => Promise<RegistryLogin | undefined>;
	log: (message: string) => void;
	/** What `LauncherDefinition.file` has read. */
	fromFile?: unknown;
}

/** A member of `sluice.yaml` that belongs to a launcher, such as machines that endpoints name. */
export interface LauncherFile {
	readonly member: string;
	readonly schema: Schema;
	/** `raw` fits the schema unless there are problems; faults are added to them. */
	read(raw: unknown, context: FileContext, problems: string[]): unknown;
}

export interface FileContext {
	/** The file itself. */
	path: string;
	/** At which other machines reach the service, if it is set. */
	url: string | undefined;
	listen: string;
	gpus: number;
	hostTimeoutMs: number;
	endpoints: readonly Endpoint[];
}

export interface EndpointToCheck<S extends LauncherSettings = LauncherSettings> {
	id: string;
	launcher: S;
	/** Default: 0. */
	gpusPerWorker?: number;
}

export interface LauncherDefinition<S extends LauncherSettings = LauncherSettings> {
	readonly type: S["type"];
	readonly title: string;
	readonly description: string;
	/** Whether Sluice starts and stops the workers. */
	readonly managed: boolean;
	/**
	 * Settings besides `type`. Those with a `title` are fields of the console's form: `description` is the hint, the
	 * first of `examples` the placeholder.
	 */
	readonly settings: Pick<Schema, "properties" | "required">;
	/** Every server reaches the platform. The one that scales an endpoint adopts the workers of the one before. */
	readonly shared?: boolean;
	/** Whether the platform assigns GPUs to workers (`WorkerSpec.gpuCount`) instead of this machine. */
	placesGpus?(settings: S): boolean;
	readonly file?: LauncherFile;
	/** Whether several workers may share a GPU, each with its part (`WorkerSpec.gpuMemoryGb`). */
	readonly sharesGpus?: boolean;
	/** Whether idle workers can sleep: the launcher has `run`, and this machine's GPUs are assigned to them. */
	canSleep?(settings: S): boolean;
	/**
	 * Whether it can start workers that are adapters (`WorkerSpec.adapter`), and how their server runs: as a child of the
	 * adapter, or in a container of its own, which knows no port that the adapter chooses and shares no socket with it.
	 */
	readonly adapts?: "child" | "container";
	/** Whether containers have the network of their machine, so that their ports are its ports. */
	isOnHostNetwork?(settings: S): boolean;
	/** Settings that may change without replacing running workers. */
	readonly keepsWorkers?: readonly string[];
	/** Rules between settings. Fields are without `launcher.`. */
	faults?(settings: S): Fault[];
	/** Makes paths relative to the folder of `sluice.yaml` absolute. */
	resolvePaths?(settings: S, folder: string): S;
	/** Returns what the settings name on this machine that is not there. Fields are without `launcher.`. */
	missing?(settings: S): Promise<Fault[]>;
	/**
	 * Whether it is created at every start of the service. Default: once there is an endpoint of this type, or a worker
	 * of an earlier run.
	 */
	atStart?(dependencies: LauncherDependencies): boolean;
	/** Called once per service, again after it has failed. */
	create(dependencies: LauncherDependencies): Promise<Launcher>;
	doctor?(endpoints: readonly EndpointToCheck<S>[], env: Env, fromFile: unknown): Promise<Finding[]>;
}
