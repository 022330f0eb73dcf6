/** Servers read them at each use. */
import type { ResourceRow } from "../contract/resources.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, lock, rows, sql } from "./work.ts";

const RESOURCES = columns<ResourceRow>("kind, id, name, body, sealed, created_at, updated_at");

const OF_KIND = `SELECT ${RESOURCES.names} FROM resources WHERE kind = $1`;
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";

const ALL = sql(`${OF_KIND} ${NEWEST_FIRST}`);
const NAMED = sql(`${OF_KIND} AND name = $2 ${NEWEST_FIRST}`);
const FIND = sql(`${OF_KIND} AND id = $2`);
const COUNT = sql("SELECT count(*) FROM resources WHERE kind = $1");
const INSERT = sql(`
  INSERT INTO resources (${RESOURCES.names}) VALUES (${RESOURCES.parameters}) ON CONFLICT DO NOTHING`);
const UPDATE = sql(`
  UPDATE resources SET name = $3, body = $4, sealed = $5, updated_at = $6
  WHERE kind = $1 AND id = $2 AND updated_at = $7`);
const REMOVE = sql("DELETE FROM resources WHERE kind = $1 AND id = $2");

export const resources = {
	list: read<"resources.list">(function* ({ kind, name }) {
		return (yield* name === undefined ? rows(ALL, kind) : rows(NAMED, kind, name)).map(RESOURCES.from);
	}),

	find: read<"resources.find">(function* ({ kind, id }) {
		return (yield* rows(FIND, kind, id)).map(RESOURCES.from)[0];
	}),

	insert: write<"resources.insert">(function* ({ row, atMost }) {
		yield* lock("resources");
		const [count] = (yield* rows(COUNT, row.kind))[0]!;
		if (Number(count) >= atMost) return "full";
		return (yield* change(INSERT, ...RESOURCES.values(row))) > 0 ? "inserted" : "taken";
	}),

	update: write<"resources.update">(function* ({ row: { kind, id, name, body, sealed, updatedAt }, from }) {
		return (yield* change(UPDATE, kind, id, name, body, sealed ?? null, updatedAt, from)) > 0;
	}),

	remove: write<"resources.remove">(function* ({ kind, id }) {
		return (yield* change(REMOVE, kind, id)) > 0;
	}),
};
