import { loadStore, type StoreAddress } from "../../kernel/config/config.ts";
import type { KeyPlace } from "../../kernel/stores.ts";
import { CliError } from "./errors.ts";

/** Reads `--store` or `SLUICE_STORE`. Throws {@link CliError}. */
export function storeAddress(flag?: string): StoreAddress {
	const loaded = loadStore({ flags: { store: flag }, env: process.env, cwd: process.cwd() });
	if (!loaded.ok) throw new CliError(loaded.problems.join("\n"));
	return loaded.store;
}

/** Returns the path of the SQLite store. Throws {@link CliError} with `otherwise` for PostgreSQL. */
export function sqlitePath(flag: string | undefined, otherwise: string): string {
	const store = storeAddress(flag);
	if (store.kind === "sqlite") return store.path;
	throw new CliError(otherwise);
}

export function keyPlace(file: string): KeyPlace {
	const { SLUICE_SECRET: secret, SLUICE_SECRET_PREVIOUS: previousSecret } = process.env;
	return { secret: secret || undefined, previousSecret: previousSecret || undefined, file };
}

export function fail(error: unknown): never {
	throw error instanceof CliError ? error : new CliError((error as Error).message, 1);
}
