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
