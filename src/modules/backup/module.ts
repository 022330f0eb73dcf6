/** Backups of a SQLite store in use: what the module is to the kernel (D46). */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { BACKUP_ROUTES } from "./routes.ts";

export const backup: ServiceModule = {
	name: "backup",
	routes: BACKUP_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	commands: {
		heading: "Data",
		load: async () => [
			(await import("./commands/backup.ts")).backup,
			(await import("./commands/restore.ts")).restore,
			(await import("./commands/verify.ts")).verify,
		],
	},
	open: async (kernel) => (await import("./open.ts")).openBackup(kernel),
};
