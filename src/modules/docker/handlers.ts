/** `/v1/hosts` (D44). */
import type { Sendable } from "../../kernel/api/definition/schema.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import type { HostView } from "../../kernel/core/workers/hosts.ts";
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { readNothing } from "../../kernel/http/exchange/object-body.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import { ERRORS } from "./errors.ts";
import type { Host, HOST_ROUTES } from "./routes.ts";

export function hostHandlers(hosts: Kernel["hosts"]): HandlersOf<typeof HOST_ROUTES> {
	async function setDrained(name: string, drained: boolean): Promise<Sendable<Host>> {
		const host = await hosts.drain(name, drained);
		if (!host) throw new ApiError(ERRORS.host_not_found, { host: name.slice(0, 128) });
		return hostJson(host);
	}

	return {
		listHosts: () => ({ hosts: hosts.list().map(hostJson) }),
		async drainHost(call) {
			await readNothing(call);
			return await setDrained(call.params.host, true);
		},
		async resumeHost(call) {
			await readNothing(call);
			return await setDrained(call.params.host, false);
		},
	};
}

function hostJson({ since, gpus: all, ...view }: HostView): Sendable<Host> {
	const { areGpusKnown: _, ...host } = view;
	const gpus = all.map(({ parts, ...gpu }) => ({ ...gpu, used: parts.length > 0 }));
	return { ...host, gpus, since: since === undefined ? undefined : isoTime(since) };
}
