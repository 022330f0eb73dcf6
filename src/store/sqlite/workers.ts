/** Worker rows; the rules for pings are in `operations/workers.ts`. */
import type { DialectHandlers } from "../operations/table.ts";
import type { WorkerRow } from "../contract/workers.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openWorkers({ db }: UnitOfWork): DialectHandlers<"workers"> {
	const replace = db.prepare(
		"INSERT OR REPLACE INTO workers (id, endpoint, launcher, handle, url, created_at) VALUES (?, ?, ?, ?, ?, ?)",
	);
	const select = db.prepare(
		"SELECT id, endpoint, launcher, handle, url, created_at FROM workers ORDER BY created_at, id",
	);
	const remove = db.prepare("DELETE FROM workers WHERE id = ?");

	return {
		put(row) {
			replace.run(
				row.id,
				row.endpoint,
				row.launcher,
				row.handle ?? null,
				row.url ?? null,
				row.createdAt,
			);
		},

		list() {
			return select.all().map(
				([id, endpoint, launcher, handle, url, createdAt]): WorkerRow => ({
					id: String(id),
					endpoint: String(endpoint),
					launcher: String(launcher),
					handle: (handle as string | null) ?? undefined,
					url: (url as string | null) ?? undefined,
					createdAt: Number(createdAt),
				}),
			);
		},

		remove({ id }) {
			remove.run(id);
		},
	};
}
