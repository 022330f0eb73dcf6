/** Servers read logins at each use (D45). */
import type { RegistryRow } from "../contract/registries.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, rows, sql } from "./work.ts";

const REGISTRIES = columns<RegistryRow>("registry, username, password, updated_at");

const PUT = sql(`
  INSERT INTO registries (${REGISTRIES.names}) VALUES (${REGISTRIES.parameters})
  ON CONFLICT (registry) DO UPDATE SET ${REGISTRIES.replaced(1)}`);
const ALL = sql(`SELECT ${REGISTRIES.names} FROM registries ORDER BY registry`);
const REMOVE = sql("DELETE FROM registries WHERE registry = $1");
const REPLACE = sql("UPDATE registries SET password = $3 WHERE registry = $1 AND password = $2");

export const registries = {
	put: write<"registries.put">(function* ({ row }) {
		yield* change(PUT, ...REGISTRIES.values(row));
	}),

	list: read<"registries.list">(function* () {
		return (yield* rows(ALL)).map(REGISTRIES.from);
	}),

	remove: write<"registries.remove">(function* ({ registry }) {
		return (yield* change(REMOVE, registry)) > 0;
	}),

	replace: write<"registries.replace">(function* ({ registry, from, to }) {
		return (yield* change(REPLACE, registry, from, to)) > 0;
	}),
};
