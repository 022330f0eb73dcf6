/** Written together with the settings of their endpoint (`endpoints.ts`). */
import type { ReleaseChanges, ReleaseEntry, ReleaseHead, ReleaseRow } from "../contract/releases.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, notify, rows, type Sql, sql, type Value, type Work } from "./work.ts";

const HEAD = "endpoint, version, launch_hash, state, failures, source, reason, created_at";
const HEADS = columns<ReleaseHead>(HEAD);
const ENTRIES = columns<ReleaseEntry>(`${HEAD}, created_by, diff`);
const RELEASES = columns<ReleaseRow>(`${ENTRIES.names}, settings`);

const ALL = sql(`SELECT ${HEADS.names} FROM releases ORDER BY endpoint, version`);
// The first page is below a number that is no integer of PostgreSQL.
const PAGE = "FROM releases WHERE endpoint = $1 AND version < CAST($2 AS bigint) ORDER BY version DESC LIMIT $3";
const LIST = sql(`SELECT ${ENTRIES.names} ${PAGE}`);
const SIZE = sql(`SELECT coalesce(sum(size), 0) FROM (SELECT length(diff) AS size ${PAGE}) AS page`);
const FIND = sql(`SELECT ${RELEASES.names} FROM releases WHERE endpoint = $1 AND version = $2`);
const INSERT = sql(`
  INSERT INTO releases (${RELEASES.names}) VALUES (${RELEASES.parameters}) ON CONFLICT DO NOTHING`);
const FAIL = sql("UPDATE releases SET state = 'failed' WHERE endpoint = $1 AND version = $2");
const UNPROVEN = "WHERE endpoint = $1 AND version = $2 AND state = 'unproven'";
const PROVE = sql(`UPDATE releases SET state = 'healthy' ${UNPROVEN}`);
const CRASHED = sql(`UPDATE releases SET failures = failures + 1 ${UNPROVEN}`);
const REMOVE = sql("DELETE FROM releases WHERE endpoint = $1 AND version = $2");
const REPLACE = sql("UPDATE releases SET settings = $4 WHERE endpoint = $1 AND version = $2 AND settings = $3");

function* changed(statement: Sql, ...values: readonly Value[]): Work<boolean> {
	if ((yield* change(statement, ...values)) === 0) return false;
	yield* notify("endpoints");
	return true;
}

/** False, without a change, if another server has added such a version. */
export function* changeReleases(endpoint: string, { add, fail, remove }: ReleaseChanges): Work<boolean> {
	for (const row of add) if ((yield* change(INSERT, ...RELEASES.values(row))) === 0) return false;
	if (fail !== undefined) yield* change(FAIL, endpoint, fail);
	for (const version of remove) yield* change(REMOVE, endpoint, version);
	return true;
}

export const releases = {
	heads: read<"releases.heads">(function* () {
		return (yield* rows(ALL)).map(HEADS.from);
	}),

	list: read<"releases.list">(function* ({ endpoint, before, limit }) {
		return (yield* rows(LIST, endpoint, before, limit)).map(ENTRIES.from);
	}),

	size: read<"releases.size">(function* ({ endpoint, before, limit }) {
		return Number((yield* rows(SIZE, endpoint, before, limit))[0]![0]);
	}),

	find: read<"releases.find">(function* ({ endpoint, version }) {
		return (yield* rows(FIND, endpoint, version)).map(RELEASES.from)[0];
	}),

	prove: write<"releases.prove">(function* ({ endpoint, version }) {
		return yield* changed(PROVE, endpoint, version);
	}),

	crashed: write<"releases.crashed">(function* ({ endpoint, version }) {
		return yield* changed(CRASHED, endpoint, version);
	}),

	replace: write<"releases.replace">(function* ({ endpoint, version, from, to }) {
		return (yield* change(REPLACE, endpoint, version, from, to)) > 0;
	}),
};
