/** Objects of workers and clients with the S3 API (D59): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { S3_ROUTES } from "./routes.ts";
import { type GivenS3, S3_SCHEMA, s3Settings, type S3Settings } from "./settings.ts";
import { JOB_FILE_ROUTES } from "./workers/routes.ts";

export const s3: ServiceModule<S3Settings> = {
	name: "s3",
	settings: { schema: S3_SCHEMA, from: (given) => s3Settings(given as GivenS3) },
	routes: [...S3_ROUTES, ...JOB_FILE_ROUTES],
	errors: ERRORS,
	commands: { heading: "Data", load: async () => [(await import("./commands.ts")).files] },
	// Objects expire although no client calls.
	opens: "start",
	open: async (kernel, settings) => (await import("./open.ts")).openS3(kernel, settings ?? s3Settings({})),
};
