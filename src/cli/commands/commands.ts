/** All commands. */
import { MODULES } from "../../modules/index.ts";
import type { CommandHeading } from "../../modules/module.ts";
import { apply, diff } from "./apply/apply.ts";
import { exportCommand } from "./apply/export.ts";
import type { Command } from "../framework/command.ts";
import { completionCommand } from "../framework/completion.ts";
import { context } from "./context.ts";
import { dev } from "../dev/dev.ts";
import { doctor } from "../doctor/doctor.ts";
import { endpoints, top } from "./jobs/endpoints.ts";
import { importCommand } from "./import-runpod.ts";
import { init } from "./init.ts";
import { jobs } from "./jobs/jobs.ts";
import { keys } from "./keys.ts";
import { migrate } from "./migrate.ts";
import { secrets } from "./secrets.ts";
import { serve } from "../serve/serve.ts";
import { workerEnv } from "./worker-env.ts";
import { logsCommand, workers } from "./jobs/workers.ts";

/** In the order of the help text; those of modules follow in their group. */
const OWN: Readonly<Record<CommandHeading, readonly Command[]>> = {
	Start: [dev, init, importCommand, serve],
	Run: [endpoints, diff, apply, exportCommand, jobs, workers, logsCommand, top, workerEnv],
	Access: [keys, secrets, context],
	Data: [migrate],
	Help: [doctor, completionCommand(() => COMMANDS)],
};

const ofModules = await Promise.all(
	MODULES.flatMap(({ commands }) =>
		commands ? [commands.load().then((all) => ({ heading: commands.heading, all }))] : [],
	),
);

export const COMMAND_GROUPS: Readonly<Record<string, readonly Command[]>> = Object.fromEntries(
	Object.entries(OWN).map(([heading, own]) => [
		heading,
		[...own, ...ofModules.flatMap((each) => (each.heading === heading ? each.all : []))],
	]),
);

export const COMMANDS: readonly Command[] = Object.values(COMMAND_GROUPS).flat();
