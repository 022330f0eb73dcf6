/** Drained hosts (D44). */
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openHosts({ db }: UnitOfWork): DialectHandlers<"hosts"> {
	const names = db.prepare("SELECT name FROM drained_hosts ORDER BY name");
	const add = db.prepare("INSERT OR IGNORE INTO drained_hosts (name, since) VALUES (?, ?)");
	const remove = db.prepare("DELETE FROM drained_hosts WHERE name = ?");
	return {
		drained: () => names.all().map(([name]) => String(name)),
		drain({ name, drained, now }) {
			if (drained) add.run(name, now);
			else remove.run(name);
		},
	};
}
