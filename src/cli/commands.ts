/** The commands: one line each. */
import type { Command } from "./command.ts";
import { serve } from "./serve.ts";
import { workerEnvCommand } from "./worker-env.ts";

export const COMMANDS: readonly Command[] = [serve, workerEnvCommand];
