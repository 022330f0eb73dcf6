/** The login to a registry, from a body or a file (D45). */
import { registryName, REGISTRY_LOGIN_SCHEMA, type RegistryLogin } from "../../kernel/core/access/image-registry.ts";
import { check, type Read } from "../../kernel/lib/schema.ts";

/** Matches what `registryName` returns. */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?$/;

const REGISTRY_NAME_MESSAGE =
	"must be the host of a registry, perhaps with its port, such as ghcr.io or registry.example.com:5000.";

export function readRegistryName(text: string): string | undefined {
	const name = registryName(text);
	return NAME.test(name) ? name : undefined;
}

export function readRegistryLogin(name: string, body: unknown): Read<{ registry: string; login: RegistryLogin }> {
	const registry = readRegistryName(name);
	const faults = check(REGISTRY_LOGIN_SCHEMA, body);
	if (registry === undefined) faults.unshift({ field: "registry", message: REGISTRY_NAME_MESSAGE });
	return registry === undefined || faults.length > 0
		? { ok: false, faults }
		: { ok: true, registry, login: body as RegistryLogin };
}
