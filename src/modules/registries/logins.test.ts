/** Passwords of registries across restarts, keys and files (D22, D45). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { RegistryRow, RegistryStore } from "../../kernel/store/contract/access.ts";
import { encryption } from "../../kernel/secrets/encryption.ts";
import { createLogins } from "./logins.ts";

const NAME = "registry.example.com";

function memory(): RegistryStore & { rows: Map<string, RegistryRow>; puts: number; full: boolean } {
	const rows = new Map<string, RegistryRow>();
	return {
		rows,
		puts: 0,
		full: false,
		async put({ row }) {
			if (this.full) throw new StoreUnavailable("full", "The disk is full.");
			this.puts += 1;
			rows.set(row.registry, row);
		},
		list: async () => [...rows.values()],
		remove: async ({ registry }) => rows.delete(registry),
		async replace({ registry, from, to }) {
			const row = rows.get(registry);
			if (row?.password !== from) return false;
			rows.set(registry, { ...row, password: to });
			return true;
		},
	};
}

const [old, next] = [randomBytes(32), randomBytes(32)];
const withKeys = (store: RegistryStore, key: Uint8Array) =>
	createLogins(
		given({
			store: { registries: store },
			now: () => 1000,
			encryption: encryption([key], randomBytes),
		}),
	);

it("D45: a login of sluice.yaml is written when it has changed, and a full disk is no fault", async () => {
	const store = memory();
	const own = withKeys(store, old);
	const login = { username: "ci", password: "secret" };
	await own.load(new Map([[NAME, login]]));
	await own.load(new Map([[NAME, login]]));
	expect(store.puts).toBe(1);
	expect(store.rows.get(NAME)!.password).not.toContain("secret");
	await own.load(new Map([[NAME, { ...login, password: "other" }]]));
	await own.load(new Map());
	expect(store.puts).toBe(2);
	expect(await own.loginFor(NAME)).toEqual({ username: "ci", password: "other" });
	store.full = true;
	await own.load(new Map([[NAME, login]]));
	expect(await own.loginFor(NAME)).toEqual({ username: "ci", password: "other" });
});

it("D22, D45: a password of an unknown key is named", async () => {
	const store = memory();
	await withKeys(store, old).put(NAME, { username: "ci", password: "secret" });
	await expect(withKeys(store, next).loginFor(NAME)).rejects.toThrow(
		`the password for the registry ${NAME} was stored under another SLUICE_SECRET and cannot be ` +
			`read; set it again: sluice registries login ${NAME}`,
	);
});
