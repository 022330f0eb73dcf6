/** Stream chunks. The range that a reader gets is reserved in the job's row (D7 Delivery). */
import { rowsOf } from "../connection/arrays.ts";
import type { JobKey, RangeQuery, Reservation } from "../../operations/unit-of-work.ts";
import type { ChunkRead } from "../../contract/jobs.ts";
import { SESSION_LOCKS, type SessionLiveness } from "../connection/session-liveness.ts";
import type { Row } from "./row.ts";
import { type Runner, statement } from "../connection/statement.ts";

const CHUNKS = rowsOf<{ row: Row; number: number; body: string }>({
	endpoint: ["text", ({ row }) => row.job.endpoint],
	job: ["text", ({ row }) => row.job.id],
	number: "int8",
	body: "text",
});
const INSERT = statement(`INSERT INTO chunks (${CHUNKS.names}) ${CHUNKS.select}`);
const DROPPED = rowsOf<{ row: Row; first: number }>({
	endpoint: ["text", ({ row }) => row.job.endpoint],
	job: ["text", ({ row }) => row.job.id],
	first: "int8",
});
const DROP = statement(
	`DELETE FROM chunks USING (${DROPPED.select}) AS dropped
		WHERE chunks.endpoint = dropped.endpoint AND chunks.job = dropped.job AND number >= first`,
);
const LAST = statement(
	"SELECT body FROM chunks WHERE endpoint = $1 AND job = $2 AND number >= $3 AND number < $4 ORDER BY number",
);

/** Maximum chunks in an answer; one more is read to know whether others follow. */
const MOST_CHUNKS = 4096;

const RANGE = statement(`
  SELECT number, body, last FROM (
    SELECT number, body, sum(octet_length(body)) OVER (ORDER BY number) AS bytes,
      row_number() OVER (ORDER BY number) AS nth, max(number) OVER () AS last
    FROM (SELECT number, body FROM chunks WHERE endpoint = $1 AND job = $2 AND number >= $3
      AND number < $4 ORDER BY number LIMIT ${MOST_CHUNKS + 1}) AS found
  ) AS numbered WHERE (bytes <= $5 OR nth = 1) AND nth <= ${MOST_CHUNKS} ORDER BY number`);

const LIVES = statement(
	`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid = ${SESSION_LOCKS} AND objid = $1::int8::oid AND granted`,
);

export async function readRange(
	run: Runner["run"],
	{ endpoint, id }: JobKey,
	{ from, end, maxBytes }: RangeQuery,
): Promise<Omit<ChunkRead, "state">> {
	const { rows } = await run(RANGE, [endpoint, id, from, end, maxBytes]);
	const first = Number(rows[0]?.[0] ?? from);
	let next = first;
	const chunks: string[] = [];
	for (const [number, body] of rows) {
		if (number !== next) break;
		chunks.push(String(body));
		next += 1;
	}
	if (chunks.length === 0) return { from, next: from, chunks, more: false };
	return { from: first, next, chunks, more: Number(rows[0]?.[2]) >= next };
}

export type ChunkRows = ReturnType<typeof openChunkRows>;

/** Chunks being delivered are kept. */
export function undelivered({ cursor, reader }: Row): number {
	return Math.max(cursor, reader?.end ?? 0);
}

export function openChunkRows(
	run: Runner["run"],
	{ session, sessions }: { session: number; sessions: SessionLiveness },
) {
	/** Last chunks that were read ahead for the next operation, by job. */
	const last = new Map<string, string[]>();
	const ranges = new Map<string, Omit<ChunkRead, "state"> | "busy">();
	const inserted: { row: Row; number: number; body: string }[] = [];
	const dropped = new Map<string, { row: Row; first: number }>();

	function dropFrom(row: Row, first: number): void {
		dropped.set(row.key, {
			row,
			first: Math.min(first, dropped.get(row.key)?.first ?? Infinity),
		});
		for (let at = inserted.length - 1; at >= 0; at -= 1) {
			const each = inserted[at];
			if (each && each.row.key === row.key && each.number >= first) inserted.splice(at, 1);
		}
	}

	return {
		insert(row: Row, number: number, body: string): void {
			inserted.push({ row, number, body });
		},

		async loadLast({ job, key, nextChunk }: Row, count: number): Promise<void> {
			const { rows } = await run(LAST, [job.endpoint, job.id, nextChunk - count, nextChunk]);
			last.set(
				key,
				rows.map(([body]) => String(body)),
			);
		},

		last({ key, nextChunk }: Row, count: number): string[] | undefined {
			const fresh = inserted
				.filter((each) => each.row.key === key && each.number >= nextChunk - count)
				.map(({ body }) => body);
			const found = [...taken(last, key), ...fresh];
			return found.length === count ? found : undefined;
		},

		/**
		 * Reads chunks. With `reader`, also whether another reader's reservation is valid, which it is while that reader's
		 * server lives.
		 */
		async loadRange({ row, reader, ...q }: RangeQuery & { row: Row; reader?: string }) {
			const other = reader !== undefined && row.reader?.reader !== reader ? row.reader : undefined;
			const busy =
				other !== undefined &&
				(other.session === session ||
					!sessions.isOver(other.session, (await run(LIVES, [other.session])).rows.length > 0));
			ranges.set(row.key, busy ? "busy" : await readRange(run, row.job, q));
		},

		isBusy: ({ key }: Row): boolean => ranges.get(key) === "busy",

		range({ key }: Row): Omit<ChunkRead, "state"> {
			const range = taken(ranges, key);
			if (range === "busy") throw new Error(`The chunks of job ${key} are reserved.`);
			return range;
		},

		undelivered,

		reservation: ({ reader }: Row): Reservation | undefined => reader,

		drop(row: Row, which: "undelivered" | "all"): number {
			const first = which === "all" ? 0 : undelivered(row);
			if (row.nextChunk > first) dropFrom(row, first);
			return which === "all" ? row.nextChunk : first;
		},

		flush(): Promise<unknown>[] {
			const [old, fresh] = [[...dropped.values()], inserted.splice(0)];
			dropped.clear();
			return [
				...(old.length > 0 ? [run(DROP, DROPPED.values(old))] : []),
				...(fresh.length > 0 ? [run(INSERT, CHUNKS.values(fresh))] : []),
			];
		},
	};
}

function taken<T>(read: Map<string, T>, key: string): T {
	const value = read.get(key);
	if (value === undefined) throw new Error(`The chunks of job ${key} were not read.`);
	read.delete(key);
	return value;
}
