/** Logins to image registries (D45). */
import type { LIST_REGISTRIES, PUT_REGISTRY, Registry, REMOVE_REGISTRY } from "../../api/registries.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { readRegistryLogin, readRegistryName } from "../../core/access/registry-login.ts";
import type { RegistryView } from "../../engine/access/registries.ts";
import type { Call } from "../exchange/call.ts";
import { readNothing, readObject } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_REGISTRIES>> {
	return { registries: (await call.engine.access.registries.list()).map(registryJson) };
}

export async function put(call: Call<"registry">): Promise<AnswerOf<typeof PUT_REGISTRY>> {
	const read = readRegistryLogin(call.params.registry, await readObject(call));
	if (!read.ok) throw badRequest(read.faults);
	return registryJson(await call.engine.access.registries.put(read.registry, read.login));
}

export async function remove(call: Call<"registry">): Promise<AnswerOf<typeof REMOVE_REGISTRY>> {
	await readNothing(call);
	const { registry: given } = call.params;
	const registry = readRegistryName(given);
	if (registry === undefined) throw new ApiError("registry_not_found", { registry: given.slice(0, 80) });
	return registryJson(await call.engine.access.registries.remove(registry));
}

function registryJson({ registry, username, updatedAt }: RegistryView): Sendable<Registry> {
	return { registry, username, updatedAt: isoTime(updatedAt) };
}
