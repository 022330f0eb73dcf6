/** `/healthz` and `/readyz`: health of the process, for those who restart or route to it (D40). */
import { ApiError } from "../core/errors.ts";
import type { Call } from "./call.ts";
import { json } from "./reply.ts";

/** GET /healthz: the process is alive. */
export function alive(call: Call): void {
	json(call.res, '{"ok":true}');
}

/** GET /readyz: requests can be taken: 503 while draining or while the store is away (D40). */
export async function ready(call: Call): Promise<void> {
	if (call.engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	await call.engine.ready();
	json(call.res, '{"ready":true}');
}
