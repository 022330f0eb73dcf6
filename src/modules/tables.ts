/** What the kernel and all modules have together, for documentation, the command line and tests. */
import { type ErrorEntry, ERRORS } from "../kernel/core/error-table.ts";
import { boundRoutes } from "../kernel/module-host.ts";
import { routesOf } from "../kernel/http/server/routes.ts";
import { MODULES } from "./index.ts";

/** Routes whose handlers only a service has. */
export const ROUTES = routesOf(
	boundRoutes(MODULES, () => {
		throw new Error("Only a service has handlers.");
	}),
	[],
);

export const ALL_ERRORS: Readonly<Record<string, ErrorEntry>> = Object.assign(
	{},
	ERRORS,
	...MODULES.map(({ errors }) => errors),
);
