/** `/v1/registries` (D45). */
import type { Sendable } from "../../kernel/api/definition/schema.ts";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { readNothing, readObject } from "../../kernel/http/exchange/object-body.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { ERRORS } from "./errors.ts";
import { readRegistryLogin, readRegistryName } from "./login.ts";
import type { Logins, RegistryView } from "./logins.ts";
import type { Registry, REGISTRY_ROUTES } from "./routes.ts";

export function registryHandlers(logins: Logins): HandlersOf<typeof REGISTRY_ROUTES> {
	return {
		listRegistries: async () => ({ registries: (await logins.list()).map(registryJson) }),
		async putRegistry(call) {
			const read = readRegistryLogin(call.params.registry, await readObject(call));
			if (!read.ok) throw badRequest(read.faults);
			return registryJson(await logins.put(read.registry, read.login));
		},
		async removeRegistry(call) {
			await readNothing(call);
			const { registry: given } = call.params;
			const registry = readRegistryName(given);
			if (registry === undefined) throw new ApiError(ERRORS.registry_not_found, { registry: given.slice(0, 80) });
			return registryJson(await logins.remove(registry));
		},
	};
}

function registryJson({ registry, username, updatedAt }: RegistryView): Sendable<Registry> {
	return { registry, username, updatedAt: isoTime(updatedAt) };
}
