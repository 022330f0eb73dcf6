/**
 * What workers say in the query of their calls (protocol B), for the pages about the API. The
 * handlers read it without refusing anything: a worker could do nothing about that.
 */
import type { ParamReader } from "../params.ts";
import { BATCH_LIMIT } from "./worker-api.ts";

const IN_PROGRESS: ParamReader = {
	name: "job_in_progress",
	description:
		"0: nothing is in progress at the worker, so that whatever it was handed before this call is lost.",
	schema: { type: "integer", minimum: 0 },
};
const BATCH_SIZE: ParamReader = {
	name: "batch_size",
	description: "Most jobs of the batch.",
	schema: { type: "integer", minimum: 1, maximum: BATCH_LIMIT, default: 1 },
};

export const TAKE_QUERY: readonly ParamReader[] = [IN_PROGRESS];
export const BATCH_QUERY: readonly ParamReader[] = [BATCH_SIZE, IN_PROGRESS];
export const CHUNK_QUERY: readonly ParamReader[] = [
	{
		name: "chunk",
		description:
			"Number of the post among those of its attempt, by which a repeat is known for certain.",
		schema: { type: "integer", minimum: 0 },
	},
];
export const PING_QUERY: readonly ParamReader[] = [
	{
		name: "job_id",
		description: "Ids of the jobs at hand, with commas between; each lease is renewed.",
		schema: { type: "string" },
	},
	{
		name: "runpod_version",
		description: "Version of the worker's SDK, at most 64 characters.",
		schema: { type: "string" },
	},
	{
		name: "status",
		description: "unhealthy: the worker is not fit to work.",
		schema: { type: "string" },
	},
	{ name: "check", description: "Which check it failed.", schema: { type: "string" } },
	{
		name: "reason",
		description: "Why, at most 500 characters with the check.",
		schema: { type: "string" },
	},
];
