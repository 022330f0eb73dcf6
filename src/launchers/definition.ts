/**
 * What a launcher declares about itself. The schema of its settings drives the checks of
 * `sluice.yaml` and `/v1`, `docs/reference/config.md`, `/openapi.json` and the console's form for a
 * new endpoint. Implementations are loaded by dynamic import, so that reading a definition is cheap.
 */
import type { Clock } from "../clock.ts";
import type { LauncherSettings } from "../core/endpoint.ts";
import type { Finding } from "../core/finding.ts";
import type { Schema } from "../core/schema.ts";
import type { Launcher } from "./launcher.ts";

/** What a launcher may use. */
export interface LauncherDependencies {
	clock: Clock;
	/** Folder for the output of this launcher's workers (`log-files.ts`); created when needed. */
	logDir: string;
	/** The environment of the service without its secrets, for workers on the same machine. */
	serviceEnv: Readonly<Record<string, string>>;
	/** Receives a sentence about a failure that no call can report. */
	log: (message: string) => void;
}

/** An endpoint as `sluice doctor` knows it, from `sluice.yaml` or from a running service. */
export interface EndpointToCheck<S extends LauncherSettings = LauncherSettings> {
	id: string;
	launcher: S;
}

export interface LauncherDefinition<S extends LauncherSettings = LauncherSettings> {
	/** The endpoint's `launcher.type`. */
	readonly type: S["type"];
	/** Its name in the console. */
	readonly title: string;
	/** Where its workers run and who starts them, in one or two sentences. */
	readonly description: string;
	/** True: Sluice starts and stops the workers. False: they are started elsewhere and only call. */
	readonly managed: boolean;
	/**
	 * The settings beside `type`. One with a `title` is a field of the console's form: its
	 * `description` is the hint, the first of its `examples` the placeholder.
	 */
	readonly settings: Pick<Schema, "properties" | "required">;
	/** Settings that may change without a replacement of the running workers. */
	readonly keepsWorkers?: readonly string[];
	/** Makes paths in the settings absolute that are relative to the folder of `sluice.yaml`. */
	resolvePaths?(settings: S, folder: string): S;
	/** Loads the implementation and makes the one launcher of this service. */
	create(dependencies: LauncherDependencies): Promise<Launcher>;
	/**
	 * What `sluice doctor` finds on this machine; called with all endpoints of this launcher, if
	 * there are any.
	 */
	doctor?(
		endpoints: readonly EndpointToCheck<S>[],
		env: Readonly<Record<string, string | undefined>>,
	): Promise<Finding[]>;
}
