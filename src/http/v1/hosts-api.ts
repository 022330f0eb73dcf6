/** `/v1/hosts` (D44). */
import type { DRAIN_HOST, Host, LIST_HOSTS, RESUME_HOST } from "../../api/hosts.ts";
import type { AnswerOf } from "../../api/route.ts";
import type { Sendable } from "../../api/schema.ts";
import type { HostView } from "../../core/hosts.ts";
import type { Call } from "../call.ts";
import { readNothing } from "./body.ts";
import { isoTime } from "./format.ts";

/** GET /v1/hosts. */
export function list({ engine }: Call): AnswerOf<typeof LIST_HOSTS> {
	return { hosts: engine.workers.hosts.list().map(hostJson) };
}

/** POST /v1/hosts/{host}/drain. */
export async function drain(call: Call): Promise<AnswerOf<typeof DRAIN_HOST>> {
	await readNothing(call);
	return hostJson(await call.engine.workers.hosts.drain(call.params.host, true));
}

/** POST /v1/hosts/{host}/resume. */
export async function resume(call: Call): Promise<AnswerOf<typeof RESUME_HOST>> {
	await readNothing(call);
	return hostJson(await call.engine.workers.hosts.drain(call.params.host, false));
}

function hostJson({ since, ...host }: HostView): Sendable<Host> {
	return { ...host, since: since === undefined ? undefined : isoTime(since) };
}
