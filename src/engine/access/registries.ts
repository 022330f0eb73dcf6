/** Logins to registries of container images (D45): encrypted in the store, read at each pull. */
import { ApiError } from "../../core/errors.ts";
import type { RegistryLogin } from "../../core/registry-login.ts";
import type { EpochMs } from "../../core/time.ts";
import type { RegistryRow, RegistryStore } from "../../store/contract/registries.ts";
import { unlessFull } from "../availability/read-only-start.ts";
import type { Encryption } from "./encryption.ts";

export interface RegistryView {
	registry: string;
	username: string;
	/** Ms since the epoch. */
	updatedAt: number;
}

/** Names are those that `readRegistryName` returns. */
export interface Registries {
	/** Lists the registries by name. */
	list(): Promise<RegistryView[]>;
	put(registry: string, login: RegistryLogin): Promise<RegistryView>;
	/** Returns what was removed. Throws `registry_not_found`. */
	remove(registry: string): Promise<RegistryView>;
	/** Returns the login for a pull. Throws an Error with a sentence when the password cannot be read. */
	loginFor(registry: string): Promise<RegistryLogin | undefined>;
	/** At the start: those of `sluice.yaml` replace stored ones. */
	load(configured: ReadonlyMap<string, RegistryLogin>): Promise<void>;
}

export function registries(d: { store: RegistryStore; now: () => EpochMs; encryption: Encryption }): Registries {
	const { store, encryption } = d;
	const find = async (registry: string): Promise<RegistryRow | undefined> =>
		(await store.list()).find((row) => row.registry === registry);

	async function put(registry: string, { username, password }: RegistryLogin): Promise<RegistryView> {
		const view = { registry, username, updatedAt: d.now() };
		await store.put({ row: { ...view, password: encryption.encrypt(password) } });
		return view;
	}

	return {
		list: async () => (await store.list()).map(viewOf),
		put,
		async remove(registry) {
			const row = await find(registry);
			if (!row || !(await store.remove({ registry }))) throw new ApiError("registry_not_found", { registry });
			return viewOf(row);
		},
		async loginFor(registry) {
			const row = await find(registry);
			if (!row) return undefined;
			const opened = encryption.decrypt(row.password);
			if (opened.ok) return { username: row.username, password: opened.text };
			throw new Error(
				`the password for the registry ${registry} was stored under another SLUICE_SECRET and ` +
					`cannot be read; set it again: sluice registries login ${registry}`,
			);
		},
		async load(configured) {
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
