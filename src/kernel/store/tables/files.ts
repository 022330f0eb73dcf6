/** Files that clients uploaded, and their totals by endpoint (D56). */
import { type FileRow, type FileTotal, PART } from "../contract/files.ts";
import { read, write } from "../operations/operation.ts";
import { change, columns, lock, rows, sql, type Work } from "./work.ts";

const FILES = columns<FileRow>("id, endpoint, name, purpose, type, bytes, key, created_at, expires_at");
const TOTALS = columns<FileTotal>("endpoint, files, bytes");

/** After every id. */
export const LAST = "~";

const ENDPOINT = "SELECT removing FROM endpoints WHERE id = $1";
/** The removal of the endpoint waits, and then finds the row. */
const HOLD_ENDPOINT = sql(`${ENDPOINT} FOR KEY SHARE`, ENDPOINT);
const ALL_TOTALS = sql(`SELECT ${TOTALS.names} FROM file_totals ORDER BY endpoint`);
const INSERT = sql(`INSERT INTO files (${FILES.names}) VALUES (${FILES.parameters})`);
const ADD = sql(`
  INSERT INTO file_totals (endpoint, files, bytes) VALUES ($1, 1, $2)
  ON CONFLICT (endpoint) DO UPDATE SET files = file_totals.files + 1, bytes = file_totals.bytes + $2`);
const SUBTRACT = sql("UPDATE file_totals SET files = files - 1, bytes = bytes - $2 WHERE endpoint = $1");
const LIVE = "(expires_at IS NULL OR expires_at > $2)";
const FIND = sql(`SELECT ${FILES.names} FROM files WHERE endpoint = $1 AND ${LIVE} AND id = $3`);
const ONE = `SELECT ${FILES.names} FROM files WHERE endpoint = $1 AND id = $2`;
const HOLD = sql(`${ONE} FOR UPDATE`, ONE);
const REMOVE = sql("DELETE FROM files WHERE id = $1");
const EXPIRED = sql(`SELECT ${FILES.names} FROM files WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`);
const ORPHANED = sql(`
  SELECT ${FILES.names} FROM files WHERE endpoint IN (
    SELECT endpoint FROM file_totals
    WHERE NOT EXISTS (SELECT 1 FROM endpoints WHERE endpoints.id = file_totals.endpoint)
  ) LIMIT $1`);
const KNOWN = sql("SELECT 1 FROM files WHERE id = $1");

function list(place: string, order: "ASC" | "DESC") {
	return sql(`
  SELECT ${FILES.names} FROM files WHERE endpoint = $1 AND ${LIVE} AND purpose <> '${PART}' AND ${place}
  ORDER BY id ${order} LIMIT $4`);
}

const LIST = {
	asc: { all: list("id > $3", "ASC"), one: list("id > $3 AND purpose = $5", "ASC") },
	desc: { all: list("id < $3", "DESC"), one: list("id < $3 AND purpose = $5", "DESC") },
};

/** Whether the endpoint exists and is not being removed. Its removal waits for the end of the transaction. */
export function* holdEndpoint(id: string): Work<boolean> {
	const [found] = yield* rows(HOLD_ENDPOINT, id);
	return found !== undefined && !found[0];
}

/** Returns the file, if there is one. No other transaction removes it before the end of this one. */
export function* holdFile(endpoint: string, id: string): Work<FileRow[]> {
	return (yield* rows(HOLD, endpoint, id)).map(FILES.from);
}

/** Returns which bound more bytes would exceed, and the bytes that are stored. Other transactions wait with theirs. */
export function* excess(
	endpoint: string,
	more: number,
	{ endpointBytes, totalBytes }: { endpointBytes: number; totalBytes: number },
): Work<{ over: "endpoint" | "total"; bytes: number } | undefined> {
	// The sum depends on all rows.
	yield* lock("file_totals");
	const totals = (yield* rows(ALL_TOTALS)).map(TOTALS.from);
	const own = totals.find((each) => each.endpoint === endpoint)?.bytes ?? 0;
	if (own + more > endpointBytes) return { over: "endpoint", bytes: own };
	const all = totals.reduce((sum, { bytes }) => sum + bytes, 0);
	return all + more > totalBytes ? { over: "total", bytes: all } : undefined;
}

export function* add(row: FileRow): Work<void> {
	yield* change(INSERT, ...FILES.values(row));
	yield* change(ADD, row.endpoint, row.bytes);
}

export function* removed({ id, endpoint, bytes }: FileRow): Work<boolean> {
	// Another server may have removed it meanwhile.
	if ((yield* change(REMOVE, id)) === 0) return false;
	yield* change(SUBTRACT, endpoint, bytes);
	return true;
}

export const files = {
	insert: write<"files.insert">(function* ({ row, ...bounds }) {
		if (!(yield* holdEndpoint(row.endpoint))) return "no endpoint";
		const over = yield* excess(row.endpoint, row.bytes, bounds);
		if (over) return over;
		yield* add(row);
		return "inserted";
	}),

	find: read<"files.find">(function* ({ endpoint, id, now }) {
		return (yield* rows(FIND, endpoint, now, id)).map(FILES.from)[0];
	}),

	list: read<"files.list">(function* ({ endpoint, purpose, after, order, limit, now }) {
		const place = after ?? (order === "asc" ? "" : LAST);
		const { all, one } = LIST[order];
		const found = yield* purpose === undefined
			? rows(all, endpoint, now, place, limit + 1)
			: rows(one, endpoint, now, place, limit + 1, purpose);
		return { files: found.slice(0, limit).map(FILES.from), more: found.length > limit };
	}),

	remove: write<"files.remove">(function* ({ endpoint, id, now }) {
		const [row] = (yield* rows(FIND, endpoint, now, id)).map(FILES.from);
		return row && (yield* removed(row)) ? row : undefined;
	}),

	expire: write<"files.expire">(function* ({ now, limit }) {
		const found = [...(yield* rows(EXPIRED, now, limit)), ...(yield* rows(ORPHANED, limit))].map(FILES.from);
		const ids: string[] = [];
		for (const row of found) if (yield* removed(row)) ids.push(row.id);
		return ids;
	}),

	unknown: read<"files.unknown">(function* ({ ids }) {
		const unknown: string[] = [];
		for (const id of ids) if ((yield* rows(KNOWN, id)).length === 0) unknown.push(id);
		return unknown;
	}),

	totals: read<"files.totals">(function* () {
		return (yield* rows(ALL_TOTALS)).map(TOTALS.from);
	}),
};
