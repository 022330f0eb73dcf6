/** Worker rows; the rules for pings are in `operations/workers.ts`. */
import type { DialectHandlers } from "../operations/table.ts";
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
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
	const addEnded = db.prepare(
		"INSERT OR REPLACE INTO ended_workers (id, endpoint, ended_at, record) VALUES (?, ?, ?, ?)",
	);
	const prune = db.prepare(
		`DELETE FROM ended_workers WHERE endpoint = ?1 AND (ended_at < ?2 OR id NOT IN (
		   SELECT id FROM ended_workers WHERE endpoint = ?1 ORDER BY ended_at DESC, id DESC LIMIT ?3))`,
	);
	const ended = db.prepare(
		`SELECT record FROM ended_workers WHERE endpoint = ? AND ended_at >= ?
		 ORDER BY ended_at DESC, id DESC LIMIT ?`,
	);

	return {
		put(row) {
			replace.run(row.id, row.endpoint, row.launcher, row.handle ?? null, row.url ?? null, row.createdAt);
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

		end({ worker, count, since }) {
			remove.run(worker.id);
			addEnded.run(worker.id, worker.endpoint, worker.endedAt, JSON.stringify(worker));
			prune.run(worker.endpoint, since, count);
		},

		ended: ({ endpoint, since, limit }) =>
			ended.all(endpoint, since, limit).map(([record]) => JSON.parse(String(record)) as EndedWorker),
	};
}
