/** Logins to registries of container images (D45). */
import { REGISTRY_COLUMNS, registryFrom } from "../table-rows.ts";
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openRegistries({ db }: UnitOfWork): DialectHandlers<"registries"> {
	const put = db.prepare(`INSERT OR REPLACE INTO registries (${REGISTRY_COLUMNS}) VALUES (?, ?, ?, ?)`);
	const all = db.prepare(`SELECT ${REGISTRY_COLUMNS} FROM registries ORDER BY registry`);
	const remove = db.prepare("DELETE FROM registries WHERE registry = ?");
	const replace = db.prepare("UPDATE registries SET password = ? WHERE registry = ? AND password = ?");
	return {
		put({ row: { registry, username, password, updatedAt } }) {
			put.run(registry, username, password, updatedAt);
		},
		list: () => all.all().map(registryFrom),
		remove: ({ registry }) => Number(remove.run(registry).changes) > 0,
		replace: ({ registry, from, to }) => Number(replace.run(to, registry, from).changes) > 0,
	};
}
