/** The launchers by the name an endpoint's `launcher.type` gives them (D25). */
import type { Clock } from "../clock.ts";
import { dockerLauncher } from "./docker/launcher.ts";
import { externalLauncher } from "./external/launcher.ts";
import type { Launcher } from "./launcher.ts";
import { processLauncher } from "./process/launcher.ts";

/** What a launcher may use. */
export interface LauncherDependencies {
	clock: Clock;
	/** Folder of its own for the output of workers; made when needed. */
	logDir: string;
	/** Takes a sentence about something that went wrong and that no call could report. */
	log?: (message: string) => void;
}

/** Makes the launcher of that name; a name that is not here does not exist. */
export const launchers: Readonly<Record<string, (dependencies: LauncherDependencies) => Launcher>> =
	{
		process: processLauncher,
		docker: dockerLauncher,
		external: externalLauncher,
	};
