/** `/v1/hosts` (D44). */
import type { DRAIN_HOST, Host, LIST_HOSTS, RESUME_HOST } from "../../api/hosts.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import type { HostView } from "../../core/workers/hosts.ts";
import type { Call } from "../exchange/call.ts";
import { readNothing } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";

export function list({ engine }: Call): AnswerOf<typeof LIST_HOSTS> {
	return { hosts: engine.workers.hosts.list().map(hostJson) };
}

export async function drain(call: Call<"host">): Promise<AnswerOf<typeof DRAIN_HOST>> {
	await readNothing(call);
	return hostJson(await call.engine.workers.hosts.drain(call.params.host, true));
}

export async function resume(call: Call<"host">): Promise<AnswerOf<typeof RESUME_HOST>> {
	await readNothing(call);
	return hostJson(await call.engine.workers.hosts.drain(call.params.host, false));
}

function hostJson({ since, gpus: all, ...view }: HostView): Sendable<Host> {
	const { areGpusKnown: _, ...host } = view;
	const gpus = all.map(({ parts, ...gpu }) => ({ ...gpu, used: parts.length > 0 }));
	return { ...host, gpus, since: since === undefined ? undefined : isoTime(since) };
}
