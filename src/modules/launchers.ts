/**
 * The launchers that are modules, which the kernel imports as `#launchers`: the schema of endpoints is made of their
 * definitions, which are data. A start loads only these and their `settings.ts`; the rest is imported with the first
 * endpoint of the type, or the first worker of an earlier run (`kernel/launchers/lazy-launcher.ts`). Removing an import
 * and its entry removes the launcher.
 */
import type { LauncherDefinition } from "../kernel/launchers/definition.ts";
import { DOCKER } from "./docker/definition.ts";
import { KUBERNETES } from "./kubernetes/definition.ts";
import { SLURM } from "./slurm/definition.ts";

export const LAUNCHERS: readonly LauncherDefinition[] = [DOCKER, KUBERNETES, SLURM];
