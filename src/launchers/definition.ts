/**
 * What a launcher declares about itself. Its settings schema drives the checks of `sluice.yaml` and
 * `/v1`, `docs/reference/config.md`, `/openapi.json` and the console's form for new endpoints.
 * Implementations are imported dynamically, so that reading a definition is cheap.
 */
import type { Clock } from "../clock.ts";
import type { LauncherSettings } from "../core/endpoint.ts";
import type { Fault } from "../core/errors.ts";
import type { Finding } from "../core/finding.ts";
import type { HostConfig } from "../core/hosts.ts";
import type { RegistryLogin } from "../core/registry-login.ts";
import type { Schema } from "../core/schema.ts";
import type { Launcher } from "./launcher.ts";

export interface LauncherDependencies {
	clock: Clock;
	/** Folder for worker output (`log-files.ts`); created when needed. */
	logDir: string;
	/** Folder for named volumes on this machine; created when needed. Default: volumes. */
	volumeDir?: string;
	/** Environment without secrets; for workers on the same machine. */
	serviceEnv: Readonly<Record<string, string>>;
	/** User and password for a registry of container images; absent, or undefined: none are set (D45). */
	registryLogin?: (registry: string) => Promise<RegistryLogin | undefined>;
	/** Reports failures that no call can report. */
	log: (message: string) => void;
	/** Hosts for launchers that place workers on hosts of the configuration. */
	hosts?: HostConfig;
}

/** An endpoint of `sluice.yaml` or a running service. */
export interface EndpointToCheck<S extends LauncherSettings = LauncherSettings> {
	id: string;
	launcher: S;
	/** Default: 0. */
	gpusPerWorker?: number;
}

export interface LauncherDefinition<S extends LauncherSettings = LauncherSettings> {
	/** The endpoint's `launcher.type`. */
	readonly type: S["type"];
	/** Shown in the console. */
	readonly title: string;
	/** Where its workers run and who starts them, in one or two sentences. */
	readonly description: string;
	/** Whether Sluice starts and stops the workers. */
	readonly managed: boolean;
	/**
	 * Settings besides `type`. Those with a `title` are fields of the console's form: `description`
	 * is the hint, the first of `examples` the placeholder.
	 */
	readonly settings: Pick<Schema, "properties" | "required">;
	/**
	 * Every server reaches the platform. Where several share a store, the one that scales an endpoint
	 * adopts the workers of the one before; they call `publicUrl`.
	 */
	readonly shared?: boolean;
	/**
	 * The platform places workers on machines: `gpusPerWorker` is a number for it (`WorkerSpec.gpuCount`),
	 * and no GPUs of this machine are assigned.
	 */
	placesGpus?(settings: S): boolean;
	/** Settings that may change without replacing running workers. */
	readonly keepsWorkers?: readonly string[];
	/** Makes paths relative to the folder of `sluice.yaml` absolute. */
	resolvePaths?(settings: S, folder: string): S;
	/**
	 * What these settings name on this machine and is not there, such as a folder; fields without
	 * `launcher.`. For settings that are new, where one server starts the workers.
	 */
	missing?(settings: S): Promise<Fault[]>;
	/** Loads the implementation; called once per service. */
	create(dependencies: LauncherDependencies): Promise<Launcher>;
	/** Checks this machine for `sluice doctor`; receives all endpoints of this launcher, if any. */
	doctor?(
		endpoints: readonly EndpointToCheck<S>[],
		env: Readonly<Record<string, string | undefined>>,
		hosts: HostConfig,
	): Promise<Finding[]>;
}
