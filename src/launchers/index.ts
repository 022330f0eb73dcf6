/** The registered launchers (D25). A new one is a folder beside this file and one entry here. */
import type { LauncherDefinition } from "./definition.ts";
import { DOCKER } from "./docker/index.ts";
import { EXTERNAL } from "./external/index.ts";
import { PROCESS } from "./process/index.ts";

export const LAUNCHERS: readonly LauncherDefinition[] = [PROCESS, DOCKER, EXTERNAL];

/** Whether Sluice starts and stops the workers of this launcher; `type` as `launcher.type` has it. */
export function isManaged(type: string): boolean {
	return LAUNCHERS.find((launcher) => launcher.type === type)?.managed ?? true;
}
