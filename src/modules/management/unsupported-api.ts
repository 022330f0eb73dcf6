/** Refuses what has no counterpart here, with what to use instead (D49). */
import { type LIST_BUILDS, type LIST_PODS, UNSUPPORTED } from "./routes/unsupported.ts";
import { LAST_PAGE } from "./routes/pages.ts";
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { ERRORS } from "./errors.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";

/** Throws 501. */
export function unsupported({ path }: Call): never {
	const why = UNSUPPORTED.find(([root]) => path === root || path.startsWith(`${root}/`))?.[1] ?? "Not available here.";
	throw new ApiError(ERRORS.not_implemented, { why });
}

export function listPods(): AnswerOf<typeof LIST_PODS> {
	return { pods: [], pagination: LAST_PAGE };
}

/** Throws `endpoint_not_found`. */
export function listBuilds(call: Call<"endpoint">): AnswerOf<typeof LIST_BUILDS> {
	call.engine.endpoints.get(call.params.endpoint);
	return { builds: [], pagination: LAST_PAGE };
}
