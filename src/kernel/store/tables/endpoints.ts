/** Endpoints, their releases, and the resources that their settings name, which servers read at each use. */
import { type ResourceKey, uses } from "../../core/endpoints/used-resources.ts";
import type {
	ResourceHead,
	ResourcePage,
	ResourceRow,
	ReleaseChanges,
	ReleaseEntry,
	ReleaseHead,
	ReleaseRow,
	EndpointRow,
} from "../contract/endpoints.ts";
import { read, write } from "../operations/operation.ts";
import { columns, change, lock, rows, sql, type Value, type Work, notify, type Sql } from "./work.ts";
import type { SealedEndpoint } from "../contract/access.ts";

const RESOURCE_HEADS = columns<ResourceHead>("kind, id, name, body, created_at, updated_at");
const RESOURCES = columns<ResourceRow>("kind, id, name, body, sealed, created_at, updated_at");

const OF_KIND = `SELECT ${RESOURCES.names} FROM resources WHERE kind = $1`;
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";
const RESOURCE_PAGE = `FROM resources WHERE kind = $1 AND (created_at, id) < ($2, $3) ${NEWEST_FIRST} LIMIT $4`;

const ALL_RESOURCES = sql(`SELECT ${RESOURCE_HEADS.names} FROM resources WHERE kind = $1 ${NEWEST_FIRST}`);
const LIST_RESOURCES = sql(`SELECT ${RESOURCES.names} ${RESOURCE_PAGE}`);
const SIZE_OF_RESOURCES = sql(`
  SELECT coalesce(sum(size), 0)
  FROM (SELECT length(body) + coalesce(length(sealed), 0) AS size ${RESOURCE_PAGE}) AS page`);
const NAMED_RESOURCES = sql(`${OF_KIND} AND name = $2 ${NEWEST_FIRST}`);
const FIND_RESOURCE = sql(`${OF_KIND} AND id = $2`);
const COUNT_RESOURCES = sql("SELECT count(*) FROM resources WHERE kind = $1");
const INSERT_RESOURCE = sql(`
  INSERT INTO resources (${RESOURCES.names}) VALUES (${RESOURCES.parameters}) ON CONFLICT DO NOTHING`);
const UPDATE_RESOURCE = sql(`
  UPDATE resources SET name = $3, body = $4, sealed = $5, updated_at = $6
  WHERE kind = $1 AND id = $2 AND updated_at = $7`);
const RESOURCE_EXISTS = "SELECT 1 FROM resources WHERE kind = $1 AND id = $2";
const KEEP_RESOURCE = sql(`${RESOURCE_EXISTS} FOR SHARE`, RESOURCE_EXISTS);
const HOLD_RESOURCE = sql(`${RESOURCE_EXISTS} FOR UPDATE`, RESOURCE_EXISTS);
/** Reads endpoints that may use the resource: its id occurs somewhere in their settings. */
const ENDPOINTS_NAMING = sql(
	"SELECT id, settings FROM endpoints WHERE NOT removing AND settings LIKE '%' || $1 || '%' ORDER BY id",
);
const REMOVE_RESOURCE = sql("DELETE FROM resources WHERE kind = $1 AND id = $2");

const pageValues = ({ kind, after, limit }: ResourcePage): Value[] => [
	kind,
	after?.createdAt ?? Number.MAX_SAFE_INTEGER,
	after?.id ?? "",
	limit,
];

/** Whether the resource exists. It is not removed before the end of the transaction. */
export function* isKept({ kind, id }: ResourceKey): Work<boolean> {
	return (yield* rows(KEEP_RESOURCE, kind, id)).length > 0;
}

/** Returns the ids of the endpoints that use the resource. */
function* usersOf(resource: ResourceKey): Work<string[]> {
	const naming = yield* rows(ENDPOINTS_NAMING, resource.id);
	return naming.flatMap(([id, settings]) => (uses(JSON.parse(settings as string), resource) ? [id as string] : []));
}

export const resources = {
	list: read<"resources.list">(function* ({ kind }) {
		return (yield* rows(ALL_RESOURCES, kind)).map(RESOURCE_HEADS.from);
	}),

	named: read<"resources.named">(function* ({ kind, name }) {
		return (yield* rows(NAMED_RESOURCES, kind, name)).map(RESOURCES.from);
	}),

	page: read<"resources.page">(function* (q) {
		return (yield* rows(LIST_RESOURCES, ...pageValues(q))).map(RESOURCES.from);
	}),

	size: read<"resources.size">(function* (q) {
		return Number((yield* rows(SIZE_OF_RESOURCES, ...pageValues(q)))[0]![0]);
	}),

	find: read<"resources.find">(function* ({ kind, id }) {
		return (yield* rows(FIND_RESOURCE, kind, id)).map(RESOURCES.from)[0];
	}),

	insert: write<"resources.insert">(function* ({ row, atMost }) {
		yield* lock("resources");
		const [count] = (yield* rows(COUNT_RESOURCES, row.kind))[0]!;
		if (Number(count) >= atMost) return "full";
		return (yield* change(INSERT_RESOURCE, ...RESOURCES.values(row))) > 0 ? "inserted" : "taken";
	}),

	update: write<"resources.update">(function* ({ row: { kind, id, name, body, sealed, updatedAt }, from }) {
		return (yield* change(UPDATE_RESOURCE, kind, id, name, body, sealed ?? null, updatedAt, from)) > 0;
	}),

	remove: write<"resources.remove">(function* ({ kind, id }) {
		// Waits for changes of endpoints that begin to use the resource: the next statement reads what these have stored.
		if ((yield* rows(HOLD_RESOURCE, kind, id)).length === 0) return "missing";
		const users = yield* usersOf({ kind, id });
		if (users.length > 0) return { users };
		yield* change(REMOVE_RESOURCE, kind, id);
		return "removed";
	}),
};

const RELEASE_HEAD = "endpoint, version, launch_hash, state, failures, source, reason, created_at";
const RELEASE_HEADS = columns<ReleaseHead>(RELEASE_HEAD);
const RELEASE_ENTRIES = columns<ReleaseEntry>(`${RELEASE_HEAD}, created_by, diff`);
const RELEASES = columns<ReleaseRow>(`${RELEASE_ENTRIES.names}, settings`);

const ALL_RELEASES = sql(`SELECT ${RELEASE_HEADS.names} FROM releases ORDER BY endpoint, version`);
// The first page begins below a number that is not an integer of PostgreSQL.
const RELEASE_PAGE =
	"FROM releases WHERE endpoint = $1 AND version < CAST($2 AS bigint) ORDER BY version DESC LIMIT $3";
const LIST_RELEASES = sql(`SELECT ${RELEASE_ENTRIES.names} ${RELEASE_PAGE}`);
const SIZE_OF_RELEASES = sql(
	`SELECT coalesce(sum(size), 0) FROM (SELECT length(diff) AS size ${RELEASE_PAGE}) AS page`,
);
const FIND_RELEASE = sql(`SELECT ${RELEASES.names} FROM releases WHERE endpoint = $1 AND version = $2`);
const INSERT_RELEASE = sql(`
  INSERT INTO releases (${RELEASES.names}) VALUES (${RELEASES.parameters}) ON CONFLICT DO NOTHING`);
const FAIL_RELEASE = sql("UPDATE releases SET state = 'failed' WHERE endpoint = $1 AND version = $2");
const UNPROVEN = "WHERE endpoint = $1 AND version = $2 AND state = 'unproven'";
const PROVE_RELEASE = sql(`UPDATE releases SET state = 'healthy' ${UNPROVEN}`);
const RELEASE_CRASHED = sql(`UPDATE releases SET failures = failures + 1 ${UNPROVEN}`);
const REMOVE_RELEASE = sql("DELETE FROM releases WHERE endpoint = $1 AND version = $2");
const REPLACE_RELEASE = sql("UPDATE releases SET settings = $4 WHERE endpoint = $1 AND version = $2 AND settings = $3");

/** Notifies the other servers; false when there was nothing to change. */
function* changed(statement: Sql, ...values: readonly Value[]): Work<boolean> {
	if ((yield* change(statement, ...values)) === 0) return false;
	yield* notify("endpoints");
	return true;
}

/** Changes releases. False, without a change, if another server has added such a version. */
export function* changeReleases(endpoint: string, { add, fail, remove }: ReleaseChanges): Work<boolean> {
	for (const row of add) if ((yield* change(INSERT_RELEASE, ...RELEASES.values(row))) === 0) return false;
	if (fail !== undefined) yield* change(FAIL_RELEASE, endpoint, fail);
	for (const version of remove) yield* change(REMOVE_RELEASE, endpoint, version);
	return true;
}

export const releases = {
	heads: read<"releases.heads">(function* () {
		return (yield* rows(ALL_RELEASES)).map(RELEASE_HEADS.from);
	}),

	list: read<"releases.list">(function* ({ endpoint, before, limit }) {
		return (yield* rows(LIST_RELEASES, endpoint, before, limit)).map(RELEASE_ENTRIES.from);
	}),

	size: read<"releases.size">(function* ({ endpoint, before, limit }) {
		return Number((yield* rows(SIZE_OF_RELEASES, endpoint, before, limit))[0]![0]);
	}),

	find: read<"releases.find">(function* ({ endpoint, version }) {
		return (yield* rows(FIND_RELEASE, endpoint, version)).map(RELEASES.from)[0];
	}),

	prove: write<"releases.prove">(function* ({ endpoint, version }) {
		return yield* changed(PROVE_RELEASE, endpoint, version);
	}),

	crashed: write<"releases.crashed">(function* ({ endpoint, version }) {
		return yield* changed(RELEASE_CRASHED, endpoint, version);
	}),

	replace: write<"releases.replace">(function* ({ endpoint, version, from, to }) {
		return (yield* change(REPLACE_RELEASE, endpoint, version, from, to)) > 0;
	}),
};

const ENDPOINTS = columns<EndpointRow>("id, settings, secret, paused, removing, created_at", {
	paused: Boolean,
	removing: Boolean,
});

const CURRENT = "SELECT settings, secret, removing FROM endpoints WHERE id = $1";
const FIND_ENDPOINT = sql(`${CURRENT} FOR UPDATE`, CURRENT);
const INSERT_ENDPOINT = sql("INSERT INTO endpoints (id, settings, secret, created_at) VALUES ($1, $2, $3, $4)");
const UPDATE_ENDPOINT = sql("UPDATE endpoints SET settings = $2, secret = coalesce($3, secret) WHERE id = $1");
const ALL_ENDPOINTS = sql(`SELECT ${ENDPOINTS.names} FROM endpoints ORDER BY id`);
const PAUSE_ENDPOINT = sql("UPDATE endpoints SET paused = $2 WHERE id = $1 AND NOT removing");
const REMOVE_ENDPOINT = sql("UPDATE endpoints SET removing = true WHERE id = $1 AND NOT removing");
const REMOVING = "SELECT removing FROM endpoints WHERE id = $1";
const FIND_REMOVING = sql(`${REMOVING} FOR UPDATE`, REMOVING);
const PENDING_DELIVERY = sql(
	"SELECT 1 FROM deliveries WHERE state <> 'delivered' AND state = 'pending' AND endpoint = $1 LIMIT 1",
);
const FORGET = [
	"tokens WHERE endpoint",
	"metrics WHERE endpoint",
	"ended_workers WHERE endpoint",
	"releases WHERE endpoint",
	"files WHERE endpoint",
	"file_totals WHERE endpoint",
	"batches WHERE endpoint",
	"objects WHERE endpoint",
	"buckets WHERE endpoint",
	"object_uploads WHERE endpoint",
	"object_parts WHERE endpoint",
	"endpoints WHERE id",
].map((rows) => sql(`DELETE FROM ${rows} = $1`));

/** Whether an endpoint is being removed and has no pending delivery; undefined if it is unknown. */
export function* isForgettable(id: string): Work<boolean | undefined> {
	const [found] = yield* rows(FIND_REMOVING, id);
	return found && Boolean(found[0]) && (yield* rows(PENDING_DELIVERY, id)).length === 0;
}

export function* forget(id: string): Work<void> {
	for (const statement of FORGET) yield* change(statement, id);
	yield* notify("endpoints");
	yield* notify("access");
}

/** Whether an endpoint, or its absence, is still as it was read. The row stays locked. */
function* isStill(id: string, before: SealedEndpoint | undefined): Work<boolean> {
	// Of two that create it at once the later one finds the row of the other: the lock keeps out every INSERT.
	if (!before) yield* lock("endpoints");
	const [found] = yield* rows(FIND_ENDPOINT, id);
	if (!found || !before) return !found && !before;
	const [settings, secret, removing] = found;
	return !removing && settings === before.settings && secret === (before.secret ?? null);
}

export const endpoints = {
	put: write<"endpoints.put">(function* ({ id, before, settings, secret = null, releases, uses = [], now }) {
		if (!(yield* isStill(id, before))) return false;
		for (const each of uses) if (!(yield* isKept(each))) return false;
		if (releases && !(yield* changeReleases(id, releases))) return false;
		return yield* before
			? changed(UPDATE_ENDPOINT, id, settings, secret)
			: changed(INSERT_ENDPOINT, id, settings, secret, now);
	}),

	list: read<"endpoints.list">(function* () {
		return (yield* rows(ALL_ENDPOINTS)).map(ENDPOINTS.from);
	}),

	pause: write<"endpoints.pause">(function* ({ id, paused }) {
		return yield* changed(PAUSE_ENDPOINT, id, paused);
	}),

	remove: write<"endpoints.remove">(function* ({ id }) {
		return yield* changed(REMOVE_ENDPOINT, id);
	}),
};
