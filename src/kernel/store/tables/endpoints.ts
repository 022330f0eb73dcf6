import type { EndpointRow } from "../contract/endpoints.ts";
import type { SealedEndpoint } from "../contract/secrets.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { changeReleases } from "./releases.ts";
import { isKept } from "./resources.ts";
import { change, lock, notify, rows, type Sql, sql, type Value, type Work } from "./work.ts";

const ENDPOINTS = columns<EndpointRow>("id, settings, secret, paused, removing, created_at", {
	paused: Boolean,
	removing: Boolean,
});

const CURRENT = "SELECT settings, secret, removing FROM endpoints WHERE id = $1";
const FIND = sql(`${CURRENT} FOR UPDATE`, CURRENT);
const INSERT = sql("INSERT INTO endpoints (id, settings, secret, created_at) VALUES ($1, $2, $3, $4)");
const UPDATE = sql("UPDATE endpoints SET settings = $2, secret = coalesce($3, secret) WHERE id = $1");
const ALL = sql(`SELECT ${ENDPOINTS.names} FROM endpoints ORDER BY id`);
const PAUSE = sql("UPDATE endpoints SET paused = $2 WHERE id = $1 AND NOT removing");
const REMOVE = sql("UPDATE endpoints SET removing = true WHERE id = $1 AND NOT removing");
const REMOVING = "SELECT removing FROM endpoints WHERE id = $1";
const FIND_REMOVING = sql(`${REMOVING} FOR UPDATE`, REMOVING);
const PENDING = sql(
	"SELECT 1 FROM deliveries WHERE state <> 'delivered' AND state = 'pending' AND endpoint = $1 LIMIT 1",
);
const FORGET = [
	"tokens WHERE endpoint",
	"metrics WHERE endpoint",
	"ended_workers WHERE endpoint",
	"releases WHERE endpoint",
	"endpoints WHERE id",
].map((rows) => sql(`DELETE FROM ${rows} = $1`));

/** Notifies the other servers; false when there was nothing to change. */
function* changed(statement: Sql, ...values: readonly Value[]): Work<boolean> {
	if ((yield* change(statement, ...values)) === 0) return false;
	yield* notify("endpoints");
	return true;
}

/** An endpoint that is being removed and has no pending delivery; undefined if it is unknown. */
export function* isForgettable(id: string): Work<boolean | undefined> {
	const [found] = yield* rows(FIND_REMOVING, id);
	return found && Boolean(found[0]) && (yield* rows(PENDING, id)).length === 0;
}

export function* forget(id: string): Work<void> {
	for (const statement of FORGET) yield* change(statement, id);
	yield* notify("endpoints");
	yield* notify("access");
}

/** Whether an endpoint, or that there is none, is still as it was read. The row stays locked. */
function* isStill(id: string, before: SealedEndpoint | undefined): Work<boolean> {
	// Of two that create it at once the later one finds the row of the other: the lock keeps out every INSERT.
	if (!before) yield* lock("endpoints");
	const [found] = yield* rows(FIND, id);
	if (!found || !before) return !found && !before;
	const [settings, secret, removing] = found;
	return !removing && settings === before.settings && secret === (before.secret ?? null);
}

export const endpoints = {
	put: write<"endpoints.put">(function* ({ id, before, settings, secret = null, releases, uses = [], now }) {
		if (!(yield* isStill(id, before))) return false;
		for (const each of uses) if (!(yield* isKept(each))) return false;
		if (releases && !(yield* changeReleases(id, releases))) return false;
		return yield* before ? changed(UPDATE, id, settings, secret) : changed(INSERT, id, settings, secret, now);
	}),

	list: read<"endpoints.list">(function* () {
		return (yield* rows(ALL)).map(ENDPOINTS.from);
	}),

	pause: write<"endpoints.pause">(function* ({ id, paused }) {
		return yield* changed(PAUSE, id, paused);
	}),

	remove: write<"endpoints.remove">(function* ({ id }) {
		return yield* changed(REMOVE, id);
	}),
};
