/** Logins to registries of container images (D45). Servers read them at each use. */
import type { RegistryRow } from "../contract/registries.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value } from "./work.ts";

const PUT = sql(`
  INSERT INTO registries (registry, username, password, updated_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (registry) DO UPDATE SET
    username = excluded.username, password = excluded.password, updated_at = excluded.updated_at`);
const ALL = sql("SELECT registry, username, password, updated_at FROM registries ORDER BY registry");
const REMOVE = sql("DELETE FROM registries WHERE registry = $1");
const REPLACE = sql("UPDATE registries SET password = $3 WHERE registry = $1 AND password = $2");

function registryFrom(values: readonly Value[]): RegistryRow {
	const [registry, username, password, updatedAt] = values as [string, string, string, number];
	return { registry, username, password, updatedAt };
}

export const registries = {
	put: write<"registries.put">(function* ({ row: { registry, username, password, updatedAt } }) {
		yield* change(PUT, registry, username, password, updatedAt);
	}),

	list: read<"registries.list">(function* () {
		return (yield* rows(ALL)).map(registryFrom);
	}),

	remove: write<"registries.remove">(function* ({ registry }) {
		return (yield* change(REMOVE, registry)) > 0;
	}),

	replace: write<"registries.replace">(function* ({ registry, from, to }) {
		return (yield* change(REPLACE, registry, from, to)) > 0;
	}),
};
