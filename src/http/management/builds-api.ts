/** Builds of an endpoint: none (D49). */
import type { LIST_BUILDS } from "../../api/management/builds.ts";
import { limitOf } from "../../api/management/pages.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";
import { paged } from "./exchange.ts";

/** Throws `endpoint_not_found`. */
export function list(call: Call): AnswerOf<typeof LIST_BUILDS> {
	call.engine.endpoints.get(call.params.endpoint);
	const { items, pagination } = paged<never>(call, {
		list: "builds",
		limit: limitOf(100),
		items: [],
		keyOf: (none) => none,
	});
	return { builds: items, pagination };
}
