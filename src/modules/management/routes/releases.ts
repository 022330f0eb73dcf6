/** Releases of an endpoint, as RunPod's management API lists them (D49, D50). */
import { managed } from "./operation.ts";
import { COUNT, FLAG, list, MOMENT, object, TEXT } from "../../../kernel/api/definition/schema.ts";
import { CURSOR, LIMIT, pagesOf } from "./pages.ts";

const TEXT_OR_NULL = { type: ["string", "null"] } as const;

const PAGES = pagesOf(
	"releases",
	object({
		id: TEXT,
		version: COUNT,
		source: { enum: ["MANUAL", "GIT_BUILD"], description: "Always MANUAL: nothing is built here." },
		buildId: { type: "null" },
		createdByUserId: { ...TEXT_OR_NULL, description: "Id of a key; null: the service." },
		createdAt: MOMENT,
		workerCount: COUNT,
		diff: list(object({ field: TEXT, old: {}, new: {} })),
	}),
);

export const LIST_MANAGED_RELEASES = managed("listManagedReleases", "GET /v2/serverless/:endpoint/releases", {
	summary: "Versions of what the endpoint's workers are launched with, and how many run the current one.",
	answer: {
		description: "The releases, the newest first.",
		schema: {
			...PAGES,
			required: [...PAGES.required, "endpointVersion", "rollout"],
			properties: {
				...PAGES.properties,
				endpointVersion: COUNT,
				rollout: object({
					inProgress: { ...FLAG, description: "A worker runs an earlier version." },
					workersOnLatest: COUNT,
					workersTotal: COUNT,
					percentOnLatest: COUNT,
				}),
			},
		} as const,
	},
	query: [LIMIT, CURSOR],
});
