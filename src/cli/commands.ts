/** All commands, in the order of the help text. */
import { audit } from "./audit.ts";
import { backup } from "./backup/backup.ts";
import { restore } from "./backup/restore.ts";
import { verify } from "./backup/verify.ts";
import type { Command } from "./command.ts";
import { completionCommand } from "./completion.ts";
import { consoleCommand } from "./console.ts";
import { context } from "./context.ts";
import { dev } from "./dev/dev.ts";
import { doctor } from "./doctor/doctor.ts";
import { endpoints } from "./endpoints.ts";
import { hosts } from "./hosts.ts";
import { init } from "./init.ts";
import { jobs } from "./jobs.ts";
import { keys } from "./keys.ts";
import { migrate } from "./migrate.ts";
import { registries } from "./registries.ts";
import { serve } from "./serve.ts";
import { sessions } from "./sessions.ts";
import { webhooks } from "./webhooks.ts";
import { workerEnv } from "./worker-env.ts";
import { workers } from "./workers.ts";

export const COMMANDS: readonly Command[] = [
	serve,
	dev,
	init,
	endpoints,
	jobs,
	workers,
	workerEnv,
	hosts,
	keys,
	consoleCommand,
	sessions,
	registries,
	webhooks,
	audit,
	backup,
	restore,
	verify,
	migrate,
	doctor,
	context,
	completionCommand(() => COMMANDS),
];
