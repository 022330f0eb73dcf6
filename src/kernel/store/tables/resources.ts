/** Servers read them at each use. */
import { type ResourceKey, uses } from "../../core/management/resources.ts";
import type { ResourceHead, ResourcePage, ResourceRow } from "../contract/resources.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, lock, rows, sql, type Value, type Work } from "./work.ts";

const HEADS = columns<ResourceHead>("kind, id, name, body, created_at, updated_at");
const RESOURCES = columns<ResourceRow>("kind, id, name, body, sealed, created_at, updated_at");

const OF_KIND = `SELECT ${RESOURCES.names} FROM resources WHERE kind = $1`;
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";
const PAGE = `FROM resources WHERE kind = $1 AND (created_at, id) < ($2, $3) ${NEWEST_FIRST} LIMIT $4`;

const ALL = sql(`SELECT ${HEADS.names} FROM resources WHERE kind = $1 ${NEWEST_FIRST}`);
const LIST = sql(`SELECT ${RESOURCES.names} ${PAGE}`);
const SIZE = sql(`
  SELECT coalesce(sum(size), 0)
  FROM (SELECT length(body) + coalesce(length(sealed), 0) AS size ${PAGE}) AS page`);
const NAMED = sql(`${OF_KIND} AND name = $2 ${NEWEST_FIRST}`);
const FIND = sql(`${OF_KIND} AND id = $2`);
const COUNT = sql("SELECT count(*) FROM resources WHERE kind = $1");
const INSERT = sql(`
  INSERT INTO resources (${RESOURCES.names}) VALUES (${RESOURCES.parameters}) ON CONFLICT DO NOTHING`);
const UPDATE = sql(`
  UPDATE resources SET name = $3, body = $4, sealed = $5, updated_at = $6
  WHERE kind = $1 AND id = $2 AND updated_at = $7`);
const EXISTS = "SELECT 1 FROM resources WHERE kind = $1 AND id = $2";
const KEEP = sql(`${EXISTS} FOR SHARE`, EXISTS);
const HOLD = sql(`${EXISTS} FOR UPDATE`, EXISTS);
/** Endpoints that perhaps use it: the id stands somewhere in their settings. */
const NAMING = sql(
	"SELECT id, settings FROM endpoints WHERE NOT removing AND settings LIKE '%' || $1 || '%' ORDER BY id",
);
const REMOVE = sql("DELETE FROM resources WHERE kind = $1 AND id = $2");

const pageValues = ({ kind, after, limit }: ResourcePage): Value[] => [
	kind,
	after?.createdAt ?? Number.MAX_SAFE_INTEGER,
	after?.id ?? "",
	limit,
];

/** Whether it exists. It is not removed before the end of the transaction. */
export function* isKept({ kind, id }: ResourceKey): Work<boolean> {
	return (yield* rows(KEEP, kind, id)).length > 0;
}

/** Ids of the endpoints that use it. */
function* usersOf(resource: ResourceKey): Work<string[]> {
	const naming = yield* rows(NAMING, resource.id);
	return naming.flatMap(([id, settings]) => (uses(JSON.parse(settings as string), resource) ? [id as string] : []));
}

export const resources = {
	list: read<"resources.list">(function* ({ kind }) {
		return (yield* rows(ALL, kind)).map(HEADS.from);
	}),

	named: read<"resources.named">(function* ({ kind, name }) {
		return (yield* rows(NAMED, kind, name)).map(RESOURCES.from);
	}),

	page: read<"resources.page">(function* (q) {
		return (yield* rows(LIST, ...pageValues(q))).map(RESOURCES.from);
	}),

	size: read<"resources.size">(function* (q) {
		return Number((yield* rows(SIZE, ...pageValues(q)))[0]![0]);
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
		// Waits for changes of endpoints that begin to use it: the next statement reads what these have stored.
		if ((yield* rows(HOLD, kind, id)).length === 0) return "missing";
		const users = yield* usersOf({ kind, id });
		if (users.length > 0) return { users };
		yield* change(REMOVE, kind, id);
		return "removed";
	}),
};
