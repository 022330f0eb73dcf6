/** Worker rows; pings are handled in `workers.ts`. */
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
const REMOVE = statement("DELETE FROM workers WHERE id = $1");

export function openWorkerRows({
	database: { read, write },
}: {
	database: Database;
}): Pick<WorkerStore, "put" | "list" | "remove"> {
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
	};
}
