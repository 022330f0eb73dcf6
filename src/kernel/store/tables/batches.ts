/** Batches of requests, whose progress and files change together (D57). */
import type { BatchRow, FileChange, OpenBatch } from "../contract/batches.ts";
import type { FileRow } from "../contract/files.ts";
import { read, write } from "../operations/operation.ts";
import { add, excess, holdEndpoint, holdFile, LAST, removed } from "./files.ts";
import { change, columns, lock, rows, sql, type Work } from "./work.ts";

const BATCHES = columns<BatchRow>(
	"id, endpoint, key, created_at, cancelled_at, is_open, version, fingerprint, progress",
	{ isOpen: Boolean },
);

/** Leaves the progress out, which may have hundreds of KB and is on pages of its own. */
const OPEN_BATCHES = columns<OpenBatch>("id, endpoint, version, cancelled_at");

const INSERT = sql(`INSERT INTO batches (${BATCHES.names}) VALUES (${BATCHES.parameters})`);
const REPEATED = sql(`
  SELECT ${BATCHES.names} FROM batches WHERE endpoint = $1 AND fingerprint = $2 AND created_at >= $3
  ORDER BY created_at DESC LIMIT 1`);
const FIND = sql(`SELECT ${BATCHES.names} FROM batches WHERE endpoint = $1 AND id = $2`);
const LIST = sql(`SELECT ${BATCHES.names} FROM batches WHERE endpoint = $1 AND id < $2 ORDER BY id DESC LIMIT $3`);
const OPEN = sql(`SELECT ${OPEN_BATCHES.names} FROM batches WHERE is_open ORDER BY id LIMIT $1`);
const VERSION = "SELECT version FROM batches WHERE endpoint = $1 AND id = $2";
const HOLD = sql(`${VERSION} FOR UPDATE`, VERSION);
const REPLACE = sql(`
  UPDATE batches SET is_open = $3, progress = $4, version = version + 1 WHERE endpoint = $1 AND id = $2`);
const CANCEL = sql(`
  UPDATE batches SET cancelled_at = $3 WHERE endpoint = $1 AND id = $2 AND is_open AND cancelled_at IS NULL`);
const EXPIRE = sql(`
  DELETE FROM batches WHERE id IN (
    SELECT id FROM batches WHERE NOT is_open AND created_at < $1 ORDER BY created_at, id LIMIT $2
  )`);
/** A server of an earlier version leaves the rows when it removes an endpoint. */
const EXPIRE_ORPHANED = sql(`
  DELETE FROM batches WHERE id IN (
    SELECT id FROM batches WHERE NOT EXISTS (SELECT 1 FROM endpoints WHERE endpoints.id = batches.endpoint)
    ORDER BY endpoint, id LIMIT $1
  )`);

const bytesOf = (files: readonly FileRow[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** Returns, without a change, why the files do not fit. */
function* changeFiles(endpoint: string, { insert, remove, ...bounds }: FileChange) {
	const freed: FileRow[] = [];
	for (const id of new Set(remove)) freed.push(...(yield* holdFile(endpoint, id)));
	const growth = bytesOf(insert) - bytesOf(freed);
	const over = growth > 0 ? yield* excess(endpoint, growth, bounds) : undefined;
	if (over) return over;
	for (const row of freed) yield* removed(row);
	for (const row of insert) yield* add(row);
	return undefined;
}

function* found(endpoint: string, id: string): Work<BatchRow | undefined> {
	return (yield* rows(FIND, endpoint, id)).map(BATCHES.from)[0];
}

export const batches = {
	insert: write<"batches.insert">(function* ({ row, repeatsSince }) {
		if (!(yield* holdEndpoint(row.endpoint))) return undefined;
		// Of two that repeat each other at once, the later one finds the row of the other.
		yield* lock("batches");
		const [earlier] = (yield* rows(REPEATED, row.endpoint, row.fingerprint, repeatsSince)).map(BATCHES.from);
		if (earlier) return { batch: earlier, repeated: true };
		yield* change(INSERT, ...BATCHES.values(row));
		return { batch: row, repeated: false };
	}),

	find: read<"batches.find">(function* ({ endpoint, id }) {
		return yield* found(endpoint, id);
	}),

	list: read<"batches.list">(function* ({ endpoint, after = LAST, limit }) {
		const page = yield* rows(LIST, endpoint, after, limit + 1);
		return { batches: page.slice(0, limit).map(BATCHES.from), more: page.length > limit };
	}),

	open: read<"batches.open">(function* ({ limit }) {
		return (yield* rows(OPEN, limit)).map(OPEN_BATCHES.from);
	}),

	replace: write<"batches.replace">(function* ({ endpoint, id, version, isOpen, progress, files }) {
		// Also of an endpoint that is being removed: what is removed with it includes the files.
		if (files) yield* holdEndpoint(endpoint);
		const [held] = yield* rows(HOLD, endpoint, id);
		if (held?.[0] !== version) return "stale";
		const over = files && (yield* changeFiles(endpoint, files));
		if (over) return over;
		yield* change(REPLACE, endpoint, id, isOpen, progress);
		return "replaced";
	}),

	cancel: write<"batches.cancel">(function* ({ endpoint, id, now }) {
		yield* change(CANCEL, endpoint, id, now);
		return yield* found(endpoint, id);
	}),

	expire: write<"batches.expire">(function* ({ before, limit }) {
		return (yield* change(EXPIRE, before, limit)) + (yield* change(EXPIRE_ORPHANED, limit));
	}),
};
