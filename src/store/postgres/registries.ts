/** Logins to registries of container images (D45). Servers read them at each use. */
import { REGISTRY_COLUMNS, registryFrom } from "../table-rows.ts";
import type { RegistryStore } from "../contract/registries.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

const PUT = statement(`
  INSERT INTO registries (${REGISTRY_COLUMNS}) VALUES ($1, $2, $3, $4)
  ON CONFLICT (registry) DO UPDATE SET
    username = EXCLUDED.username, password = EXCLUDED.password, updated_at = EXCLUDED.updated_at`);
const ALL = statement(`SELECT ${REGISTRY_COLUMNS} FROM registries ORDER BY registry`);
const REMOVE = statement("DELETE FROM registries WHERE registry = $1");
const REPLACE = statement("UPDATE registries SET password = $3 WHERE registry = $1 AND password = $2");

export function openRegistries({
	database: { read, write },
}: {
	database: Pick<Database, "read" | "write">;
}): RegistryStore {
	return {
		async put({ row: { registry, username, password, updatedAt } }) {
			await write((run) => run.run(PUT, [registry, username, password, updatedAt]));
		},

		list: async () => (await read.run(ALL)).rows.map(registryFrom),

		async remove({ registry }) {
			if (!isStorable(registry)) return false;
			return (await write((run) => run.run(REMOVE, [registry]))).count > 0;
		},

		async replace({ registry, from, to }) {
			return (await write((run) => run.run(REPLACE, [registry, from, to]))).count > 0;
		},
	};
}
