/** What a launcher states about itself. Data and lazy imports: reading it loads no launcher. */
import type { Clock } from "../clock.ts";
import type { Launcher } from "./launcher.ts";

/** What a launcher may use. */
export interface LauncherDependencies {
	clock: Clock;
	/** Folder for the output of this launcher's workers; created when needed. */
	logDir: string;
	/** Receives a sentence about a failure that no call can report. */
	log?: (message: string) => void;
}

export interface LauncherDefinition {
	/** The endpoint's `launcher.type`. */
	readonly type: string;
	/** True: Sluice starts and stops the workers. False: they are started elsewhere and only call. */
	readonly managed: boolean;
	/** Loads the implementation and makes the one launcher of this service. */
	create(dependencies: LauncherDependencies): Promise<Launcher>;
}
