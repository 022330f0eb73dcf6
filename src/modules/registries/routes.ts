/** Logins to registries of container images (D45, D39). */
import { ERRORS } from "./errors.ts";
import { REGISTRY_LOGIN_SCHEMA } from "../../kernel/core/access/image-registry.ts";
import { NO_BODY, route } from "../../kernel/api/definition/route.ts";
import { listIn, MOMENT, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";

export const REGISTRY = object({
	registry: { ...TEXT, description: "Its host, perhaps with a port; docker.io: Docker Hub." },
	username: REGISTRY_LOGIN_SCHEMA.properties.username,
	updatedAt: { ...MOMENT, description: "When the login was last set." },
});
export type Registry = Static<typeof REGISTRY>;

const LIST_REGISTRIES = route("listRegistries", "GET /v1/registries", "admin", {
	summary: "Registries of container images with a login, without the passwords.",
	answer: {
		description: "The registries, by name.",
		schema: listIn("registries", REGISTRY),
	},
});

const PUT_REGISTRY = route("putRegistry", "PUT /v1/registries/:registry", "admin", {
	summary: "Sets the login to a registry, which Docker hosts use for pulls of its images.",
	answer: { description: "The registry.", schema: REGISTRY },
	body: {
		description: "User and password.",
		schema: REGISTRY_LOGIN_SCHEMA,
		checked: true,
	},
});

const REMOVE_REGISTRY = route("removeRegistry", "DELETE /v1/registries/:registry", "admin", {
	summary: "Removes the login to a registry.",
	answer: { description: "The registry before its removal.", schema: REGISTRY },
	body: NO_BODY,
	errors: [ERRORS.registry_not_found],
});

export const REGISTRY_ROUTES = [LIST_REGISTRIES, PUT_REGISTRY, REMOVE_REGISTRY] as const;
