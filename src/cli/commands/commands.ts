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
import { init } from "./init.ts";
import { jobs } from "./jobs/jobs.ts";
import { keys } from "./keys.ts";
import { migrate } from "./migrate.ts";
import { serve } from "../serve/serve.ts";
import { workerEnv } from "./worker-env.ts";
import { workers } from "./jobs/workers.ts";

/** In the order of the help text; those of modules follow under the same heading. */
const OWN: Readonly<Record<CommandHeading, readonly Command[]>> = {
	Start: [dev, init, serve],
	Run: [endpoints, diff, apply, exportCommand, jobs, workers, top, workerEnv],
	Access: [keys, context],
	Data: [migrate],
	Help: [doctor, completionCommand(() => COMMANDS)],
};

const ofModules = await Promise.all(
	MODULES.flatMap(({ commands }) =>
		commands ? [commands.load().then((all) => ({ heading: commands.heading, all }))] : [],
	),
);

/** Groups of the same name are one, with the summary of the first. */
function joined(all: readonly Command[]): Command[] {
	const byName = new Map<string, Command>();
	for (const command of all) {
		const first = byName.get(command.name);
		const isMore = first && "actions" in first && "actions" in command;
		byName.set(
			command.name,
			isMore ? { ...first, actions: [...first.actions, ...command.actions] } : (first ?? command),
		);
	}
	return [...byName.values()];
}

export const COMMAND_GROUPS: Readonly<Record<string, readonly Command[]>> = Object.fromEntries(
	Object.entries(OWN).map(([heading, own]) => [
		heading,
		joined([...own, ...ofModules.flatMap((each) => (each.heading === heading ? each.all : []))]),
	]),
);

export const COMMANDS: readonly Command[] = Object.values(COMMAND_GROUPS).flat();
