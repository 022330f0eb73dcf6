import { importCommand } from "./import-runpod.ts";
import { secrets } from "./secrets.ts";

export const COMMANDS = [importCommand, secrets];
