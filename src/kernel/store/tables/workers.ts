/** Launched workers, those that ended (D47), and drained hosts (D44). */
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
import type { WorkerRow } from "../contract/workers.ts";
import { read, write } from "../operations/operation.ts";
import { columns, change, rows, sql } from "./work.ts";

const WORKERS = columns<WorkerRow>("id, endpoint, launcher, handle, url, server, created_at");

const PUT_WORKER = sql(`
  INSERT INTO workers (${WORKERS.names}) VALUES (${WORKERS.parameters})
  ON CONFLICT (id) DO UPDATE SET ${WORKERS.replaced(1)}`);
const ALL_WORKERS = sql(`SELECT ${WORKERS.names} FROM workers ORDER BY created_at, id`);
const REPLACE_HANDLE = sql("UPDATE workers SET handle = $3 WHERE id = $1 AND handle = $2");
const REMOVE_WORKER = sql("DELETE FROM workers WHERE id = $1");
const PUT_ENDED = sql(`
  INSERT INTO ended_workers (id, endpoint, ended_at, record) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, record = excluded.record`);
const PRUNE_ENDED = sql(`
  DELETE FROM ended_workers WHERE endpoint = $1 AND (ended_at < $2 OR id NOT IN (
    SELECT id FROM ended_workers WHERE endpoint = $1 ORDER BY ended_at DESC, id DESC LIMIT $3))`);
const ENDED = sql(`
  SELECT record FROM ended_workers WHERE endpoint = $1 AND ended_at >= $2
  ORDER BY ended_at DESC, id DESC LIMIT $3`);

export const workerRows = {
	put: write<"workers.put">(function* (row) {
		yield* change(PUT_WORKER, ...WORKERS.values(row));
	}),

	list: read<"workers.list">(function* () {
		return (yield* rows(ALL_WORKERS)).map(WORKERS.from);
	}),

	replaceHandle: write<"workers.replaceHandle">(function* ({ id, from, to }) {
		return (yield* change(REPLACE_HANDLE, id, from, to)) > 0;
	}),

	remove: write<"workers.remove">(function* ({ id }) {
		yield* change(REMOVE_WORKER, id);
	}),

	end: write<"workers.end">(function* ({ worker, count, since }) {
		const { id, endpoint, endedAt } = worker;
		yield* change(REMOVE_WORKER, id);
		yield* change(PUT_ENDED, id, endpoint, endedAt, JSON.stringify(worker));
		yield* change(PRUNE_ENDED, endpoint, since, count);
	}),

	ended: read<"workers.ended">(function* ({ endpoint, since, limit }) {
		return (yield* rows(ENDED, endpoint, since, limit)).map(([record]) => JSON.parse(String(record)) as EndedWorker);
	}),
};

const DRAINED_HOSTS = sql("SELECT name FROM drained_hosts ORDER BY name");
const DRAIN_HOST = sql("INSERT INTO drained_hosts (name, since) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
const UNDRAIN_HOST = sql("DELETE FROM drained_hosts WHERE name = $1");

export const hosts = {
	drained: read<"hosts.drained">(function* () {
		return (yield* rows(DRAINED_HOSTS)).map(([name]) => String(name));
	}),

	drain: write<"hosts.drain">(function* ({ name, drained, now }) {
		if (drained) yield* change(DRAIN_HOST, name, now);
		else yield* change(UNDRAIN_HOST, name);
	}),
};
