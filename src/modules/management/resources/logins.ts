/** Registry logins of the management API. Each is used for images of the endpoints that name it, on any host. */
import type { RegistryLogin } from "../../../kernel/core/access/image-registry.ts";
import { badRequest } from "../../../kernel/core/errors.ts";
import { loginFault } from "../rules.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import { type ResourceContext, resourceTable } from "./resource-table.ts";

export interface LoginView {
	id: string;
	name: string;
	createdAt: EpochMs;
}

export type Logins = ReturnType<typeof logins>;

/** No answer has the user or the password. */
export function logins(d: ResourceContext) {
	const table = resourceTable<object>("registry", d);
	const viewOf = ({ id, name, createdAt }: LoginView): LoginView => ({ id, name, createdAt });

	return {
		list: async () => (await table.list()).map(viewOf),
		get: async (id: string) => viewOf(await table.get(id)),
		find: table.find,

		/** Throws `resource_not_found`, and 400 for a launcher that pulls no images itself. */
		async requireUsable(id: string, launcher: string): Promise<void> {
			await table.get(id);
			const message = loginFault(launcher);
			if (message !== undefined) throw badRequest([{ field: "registry", message }]);
		},

		/** Throws 400 for the name of another one. */
		async create({ name, username, password }: RegistryLogin & { name: string }): Promise<LoginView> {
			const taken = badRequest([{ field: "name", message: "is the name of another registry." }]);
			const sealed = JSON.stringify({ username, password } satisfies RegistryLogin);
			return viewOf(await table.create({ name, body: {}, sealed }, taken));
		},

		remove: table.remove,

		/** The login for a pull. Throws an Error with a sentence. */
		async loginOf(id: string): Promise<RegistryLogin> {
			const found = await table.find(id);
			if (!found)
				throw new Error(`the registry login ${id} of launcher.registry does not exist; GET /v2/registries lists all`);
			if (found.sealed !== undefined) return JSON.parse(found.sealed) as RegistryLogin;
			throw new Error(
				`the registry login ${found.name} was stored under another SLUICE_SECRET and cannot be read; ` +
					"delete it and create it again: POST /v2/registries",
			);
		},
	};
}
