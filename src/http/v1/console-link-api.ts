/** `/v1/console-link`: a link that signs in to the console once (D31). */
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { readNothing } from "./body.ts";
import { moment } from "./time.ts";

/**
 * POST /v1/console-link: `{path, expiresAt}`; whoever opens it is signed in as the holder of the
 * caller's key.
 */
export async function make(call: Call): Promise<void> {
	await readNothing(call);
	const { path, until } = call.engine.access.consoleLinks.make(principalOf(call).keyId);
	json(call.res, JSON.stringify({ path, expiresAt: moment(until) }), ["Cache-Control", "no-store"]);
}
