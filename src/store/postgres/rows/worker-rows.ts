/** Worker rows; pings are handled in `workers.ts`. */
import type { EndedWorker } from "../../../core/workers/ended-worker.ts";
import type { WorkerRow, WorkerStore } from "../../contract/workers.ts";
import type { Database } from "../connection/database.ts";
import { statement } from "../connection/statement.ts";

const REPLACE = statement(`
  INSERT INTO workers (id, endpoint, launcher, handle, url, server, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (id) DO UPDATE SET endpoint = excluded.endpoint, launcher = excluded.launcher,
    handle = excluded.handle, url = excluded.url, server = excluded.server,
    created_at = excluded.created_at`);
const SELECT = statement(
	"SELECT id, endpoint, launcher, handle, url, server, created_at FROM workers ORDER BY created_at, id",
);
const ADD_ENDED = statement(`
  INSERT INTO ended_workers (id, endpoint, ended_at, record) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, record = excluded.record`);
const PRUNE = statement(`
  DELETE FROM ended_workers WHERE endpoint = $1 AND (ended_at < $2 OR id NOT IN (
    SELECT id FROM ended_workers WHERE endpoint = $1 ORDER BY ended_at DESC, id DESC LIMIT $3))`);
const ENDED = statement(`
  SELECT record FROM ended_workers WHERE endpoint = $1 AND ended_at >= $2
  ORDER BY ended_at DESC, id DESC LIMIT $3`);
const REMOVE = statement("DELETE FROM workers WHERE id = $1");

export function openWorkerRows({
	database: { read, write },
}: {
	database: Database;
}): Pick<WorkerStore, "put" | "list" | "remove" | "end" | "ended"> {
	return {
		async put(row) {
			await write((run) =>
				run.run(REPLACE, [
					row.id,
					row.endpoint,
					row.launcher,
					row.handle ?? null,
					row.url ?? null,
					row.server ?? null,
					row.createdAt,
				]),
			);
		},

		async list() {
			const { rows } = await read.run(SELECT);
			return rows.map(
				([id, endpoint, launcher, handle, url, server, createdAt]): WorkerRow => ({
					id: String(id),
					endpoint: String(endpoint),
					launcher: String(launcher),
					handle: (handle as string | null) ?? undefined,
					url: (url as string | null) ?? undefined,
					server: (server as string | null) ?? undefined,
					createdAt: Number(createdAt),
				}),
			);
		},

		async remove({ id }) {
			await write((run) => run.run(REMOVE, [id]));
		},

		async end({ worker, count, since }) {
			const { id, endpoint, endedAt } = worker;
			await write(async ({ run }) => {
				await run(REMOVE, [id]);
				await run(ADD_ENDED, [id, endpoint, endedAt, JSON.stringify(worker)]);
				await run(PRUNE, [endpoint, since, count]);
			});
		},

		async ended({ endpoint, since, limit }) {
			const { rows } = await read.run(ENDED, [endpoint, since, limit]);
			return rows.map(([record]) => JSON.parse(String(record)) as EndedWorker);
		},
	};
}
