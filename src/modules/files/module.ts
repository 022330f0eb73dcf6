/** Files of clients, with OpenAI's API (D56): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { FILE_ROUTES } from "./routes.ts";
import { FILES_SCHEMA, filesSettings, type FilesSettings, type GivenFiles } from "./settings.ts";

export const files: ServiceModule<FilesSettings> = {
	name: "files",
	settings: { schema: FILES_SCHEMA, from: (given, source) => filesSettings(given as GivenFiles, source) },
	routes: FILE_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	commands: { heading: "Data", load: async () => [(await import("./commands/files.ts")).files] },
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	doctor: async ({ bucket }, q) => (bucket ? await (await import("./bucket/doctor.ts")).bucketFindings(bucket, q) : []),
	// Files expire although no client calls.
	opens: "start",
	open: async (kernel, settings) => (await import("./open.ts")).openFiles(kernel, settings ?? filesSettings({})),
};
