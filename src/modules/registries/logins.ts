/** Logins to registries of container images (D45), encrypted in the store. */
import { ApiError } from "../../kernel/core/errors.ts";
import type { RegistryLogin } from "../../kernel/core/access/image-registry.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { RegistryRow } from "../../kernel/store/contract/access.ts";
import { unlessFull } from "../../kernel/engine/availability/storage/free-space.ts";
import { ERRORS } from "./errors.ts";
import type { Encryption } from "../../kernel/secrets/encryption.ts";

export interface RegistryView {
	registry: string;
	username: string;
	/** Ms since the epoch. */
	updatedAt: number;
}

export type Logins = ReturnType<typeof createLogins>;

/** Names are those that `readRegistryName` returns. */
export function createLogins({ now, encryption, ...d }: EngineContext & { encryption: Encryption }) {
	const store = d.store.registries;
	const find = async (registry: string): Promise<RegistryRow | undefined> =>
		(await store.list()).find((row) => row.registry === registry);

	async function put(registry: string, { username, password }: RegistryLogin): Promise<RegistryView> {
		const view = { registry, username, updatedAt: now() };
		await store.put({ row: { ...view, password: encryption.encrypt(password) } });
		return view;
	}

	return {
		list: async () => (await store.list()).map(viewOf),
		put,
		/** Throws `registry_not_found`. */
		async remove(registry: string) {
			const row = await find(registry);
			if (!row || !(await store.remove({ registry }))) throw new ApiError(ERRORS.registry_not_found, { registry });
			return viewOf(row);
		},
		/** Throws an Error with a sentence when the password cannot be read. */
		async loginFor(registry: string): Promise<RegistryLogin | undefined> {
			const row = await find(registry);
			if (!row) return undefined;
			const opened = encryption.decrypt(row.password);
			if (opened.ok) return { username: row.username, password: opened.text };
			throw new Error(
				`the password for the registry ${registry} was stored under another SLUICE_SECRET and ` +
					`cannot be read; set it again: sluice registries login ${registry}`,
			);
		},
		/** Logins of `sluice.yaml` replace stored ones. */
		async load(configured: ReadonlyMap<string, RegistryLogin>): Promise<void> {
			const stored = new Map((await store.list()).map((row) => [row.registry, row]));
			for (const [registry, login] of configured) {
				const row = stored.get(registry);
				const opened = row && encryption.decrypt(row.password);
				if (row?.username === login.username && opened?.ok && opened.text === login.password) continue;
				await unlessFull(put(registry, login));
			}
		},
	};
}

function viewOf({ password: _password, ...view }: RegistryRow): RegistryView {
	return view;
}
