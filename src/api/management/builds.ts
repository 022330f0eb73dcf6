/** Builds of an endpoint: none, since images are built elsewhere (D49). */
import { route } from "../definition/route.ts";
import { CURSOR, LAST_PAGE, limitOf, pagesOf } from "./pages.ts";

export const LIST_BUILDS = route("listBuilds", "GET /v2/serverless/:endpoint/builds", "admin", {
	summary: "An empty list: nothing is built here.",
	answer: {
		description: "No builds.",
		schema: pagesOf("builds", { type: "object" }),
		example: { builds: [], pagination: LAST_PAGE },
	},
	query: [limitOf(100), CURSOR],
	errorForm: "problem",
});

const REFUSED = {
	summary: "There are no builds.",
	answer: { description: "None." },
	errorForm: "problem",
	page: true,
} as const;

export const BUILD_ROUTES = [
	LIST_BUILDS,
	route("getBuild", "GET /v2/serverless/:endpoint/builds/:id", "admin", REFUSED),
	route("buildLogs", "GET /v2/serverless/:endpoint/builds/:id/logs", "admin", REFUSED),
] as const;
