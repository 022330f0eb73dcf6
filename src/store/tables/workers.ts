/** Worker rows and the records of those that ended; the rules of pings are in `operations/workers.ts`. */
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
import type { WorkerRow } from "../contract/workers.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value } from "./work.ts";

const PUT = sql(`
  INSERT INTO workers (id, endpoint, launcher, handle, url, server, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (id) DO UPDATE SET endpoint = excluded.endpoint, launcher = excluded.launcher,
    handle = excluded.handle, url = excluded.url, server = excluded.server, created_at = excluded.created_at`);
const ALL = sql("SELECT id, endpoint, launcher, handle, url, server, created_at FROM workers ORDER BY created_at, id");
const REMOVE = sql("DELETE FROM workers WHERE id = $1");
const PUT_ENDED = sql(`
  INSERT INTO ended_workers (id, endpoint, ended_at, record) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, record = excluded.record`);
const PRUNE_ENDED = sql(`
  DELETE FROM ended_workers WHERE endpoint = $1 AND (ended_at < $2 OR id NOT IN (
    SELECT id FROM ended_workers WHERE endpoint = $1 ORDER BY ended_at DESC, id DESC LIMIT $3))`);
const ENDED = sql(`
  SELECT record FROM ended_workers WHERE endpoint = $1 AND ended_at >= $2
  ORDER BY ended_at DESC, id DESC LIMIT $3`);

function workerFrom(values: readonly Value[]): WorkerRow {
	const [id, endpoint, launcher, handle, url, server, createdAt] = values as [
		string,
		string,
		string,
		string | null,
		string | null,
		string | null,
		number,
	];
	return {
		id,
		endpoint,
		launcher,
		handle: handle ?? undefined,
		url: url ?? undefined,
		server: server ?? undefined,
		createdAt,
	};
}

export const workerRows = {
	put: write<"workers.put">(function* ({ id, endpoint, launcher, handle, url, server, createdAt }) {
		yield* change(PUT, id, endpoint, launcher, handle ?? null, url ?? null, server ?? null, createdAt);
	}),

	list: read<"workers.list">(function* () {
		return (yield* rows(ALL)).map(workerFrom);
	}),

	remove: write<"workers.remove">(function* ({ id }) {
		yield* change(REMOVE, id);
	}),

	end: write<"workers.end">(function* ({ worker, count, since }) {
		const { id, endpoint, endedAt } = worker;
		yield* change(REMOVE, id);
		yield* change(PUT_ENDED, id, endpoint, endedAt, JSON.stringify(worker));
		yield* change(PRUNE_ENDED, endpoint, since, count);
	}),

	ended: read<"workers.ended">(function* ({ endpoint, since, limit }) {
		return (yield* rows(ENDED, endpoint, since, limit)).map(([record]) => JSON.parse(String(record)) as EndedWorker);
	}),
};
