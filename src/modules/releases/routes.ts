/** Releases of endpoints, for operators (D50). */
import { NO_BODY, route } from "../../kernel/api/definition/route.ts";
import {
	COUNT,
	list,
	MOMENT,
	object,
	type Static,
	TEXT,
	TOTAL_PERCENTILES,
} from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

export const RELEASE = object({
	version: { ...COUNT, description: "1, 2, 3, ... of the endpoint." },
	state: {
		enum: ["unproven", "healthy", "failed"],
		description: "healthy: a worker of it was healthy. failed: it was undone because its workers crashed before that.",
	},
	source: {
		enum: ["api", "file", "rollback", "stored"],
		description: "What made it; file: sluice.yaml at a start; stored: an earlier version of Sluice.",
	},
	createdAt: MOMENT,
	"createdBy?": { ...TEXT, description: "Id of the key; absent: the service." },
	"reason?": { ...TEXT, description: "Why the service made it: an automatic rollback." },
	failures: { ...COUNT, description: "Crashes of its workers before one was healthy." },
	workers: { ...COUNT, description: "Workers that were launched with its settings." },
	jobs: object(
		{ completed: COUNT, failed: { ...COUNT, description: "FAILED and TIMED_OUT." }, executionMs: TOTAL_PERCENTILES },
		{
			description:
				"Jobs that ended on its workers in this hour and the 24 before; percentiles of their runs within 5 %.",
		},
	),
	diff: {
		...list(object({ field: TEXT, old: {}, new: {} })),
		description:
			"What it changed; old is null for what it added, new for what it removed. Values of env are never shown.",
	},
});
export type Release = Static<typeof RELEASE>;

const RELEASES = object({
	version: { ...COUNT, description: "The current one." },
	workers: object(
		{ current: COUNT, all: COUNT },
		{ description: "Launched workers: of the current version, and of all." },
	),
	releases: list(RELEASE),
});

const ANSWER = {
	description: "The releases, the newest first: at most 100, and those that workers still run.",
	schema: RELEASES,
} as const;

export const LIST_RELEASES = route("listReleases", "GET /v1/endpoints/:endpoint/releases", "read", {
	summary: "Versions of what the endpoint's workers are launched with, with what each changed.",
	answer: ANSWER,
});

const ROLL_BACK_RELEASE = route("rollBackRelease", "POST /v1/endpoints/:endpoint/releases/:version/rollback", "admin", {
	summary: "Makes a new version with launcher, env and GPUs of an earlier one.",
	answer: ANSWER,
	body: NO_BODY,
	errors: [
		ERRORS.release_not_found,
		ERRORS.release_refused,
		"resource_not_found",
		"endpoint_changed",
		"endpoint_unreadable",
	],
});

export const RELEASE_ROUTES = [LIST_RELEASES, ROLL_BACK_RELEASE] as const;
