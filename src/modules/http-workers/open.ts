/** Opens HTTP workers: from then on launched workers of endpoints with `http` are adapters. */
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { memberOf } from "../../kernel/core/endpoints/endpoint-member.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { adapts, isManaged, LAUNCHERS } from "../../kernel/launchers/index.ts";
import type { WorkerAdapter } from "../../kernel/launchers/launcher.ts";
import type { OpenModule } from "../../kernel/module.ts";
import { ERRORS } from "./errors.ts";
import { HTTP } from "./member.ts";
import { presetsShown, resolveHttp } from "./resolve.ts";
import type { HTTP_ROUTES } from "./routes.ts";

export function openHttpWorkers(): OpenModule {
	const handlers: HandlersOf<typeof HTTP_ROUTES> = {
		async listHttpPresets() {
			const launchers = LAUNCHERS.map(({ type }) => type).filter(adapts);
			return { presets: presetsShown(), launchers };
		},
		async getHttp({ engine, params }) {
			const endpoint = engine.endpoints.get(params.endpoint);
			const found = mappingOf(endpoint);
			if (!found) throw new ApiError(ERRORS.no_http, { endpoint: endpoint.id });
			return { http: found.given, mapping: found.value };
		},
	};
	return { handlers, hooks: { adapter: adapterOf } };
}

function adapterOf(endpoint: Endpoint): WorkerAdapter | undefined {
	const found = mappingOf(endpoint);
	if (!found) return undefined;
	const { value, mapping } = found;
	return { mapping: JSON.stringify(value), port: "port" in mapping.place ? mapping.place.port : undefined };
}

/** Undefined without `http`. Throws an Error with a sentence. */
function mappingOf(endpoint: Endpoint) {
	const given = memberOf(endpoint, HTTP);
	if (given === undefined) return undefined;
	const read = resolveHttp(given, { isLaunched: isManaged(endpoint.launcher.type) });
	// An earlier version of Sluice, with other presets, may have stored it.
	if (!read.ok) throw new Error(read.faults.map(({ path, message }) => `${path} ${message}`).join(" "));
	return { given, ...read };
}
