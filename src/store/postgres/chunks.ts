/** The operations on streams (D7): what writes shares transactions, a plain read needs none. */
import { RUNNING } from "../states.ts";
import type { ChunkRead, ChunkStore } from "../contract/chunks.ts";
import { undelivered } from "./rows/chunk-rows.ts";
import type { Projection } from "../apply-transition.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import type { Row } from "./rows/row.ts";
import { statement } from "./connection/statement.ts";
import type { Runner } from "./connection/statement.ts";

/**
 * First number of the advisory locks that server sessions hold as long as they live; the second is
 * the session's.
 */
export const SESSION_LOCKS = 0x534c_0003;

/** Most chunks of one answer; one more is looked at, to know whether there are more. */
const MOST_CHUNKS = 4096;

const RANGE = statement(`
  SELECT number, body, last FROM (
    SELECT number, body, sum(octet_length(body)) OVER (ORDER BY number) AS bytes, row_number() OVER (ORDER BY number) AS nth, max(number) OVER () AS last
    FROM (SELECT number, body FROM chunks WHERE endpoint = $1 AND job = $2 AND number >= $3 AND number < $4 ORDER BY number LIMIT ${MOST_CHUNKS + 1}) AS found
  ) AS numbered WHERE (bytes <= $5 OR nth = 1) AND nth <= ${MOST_CHUNKS} ORDER BY number`);

/** Whether the server of a session lives: it holds a lock of its own. */
const LIVES = statement(
	`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND classid = ${SESSION_LOCKS} AND objid = $1::int8::oid AND granted`,
);

/**
 * A row and what a reader may see of it now: the state, and the number below which chunks are
 * there.
 */
export interface Seen {
	row: Row;
	state: ChunkRead["state"];
	end: number;
}

/** What may be seen of a row as it is now; undefined when it is erased or gone. */
export function seenOf(row: Row, projected: Projection | undefined): Seen | undefined {
	if (!projected || projected.job.erased) return undefined;
	const dropped = projected.steps.some((step) => step.chunks === "undelivered");
	return { row, state: projected.job.state, end: dropped ? undelivered(row) : row.nextChunk };
}

/**
 * Chunks below number `end`, from the first there is at or after `from`, without a gap, together at
 * most `maxBytes` bytes but at least one.
 */
export async function rangeOf(
	run: Runner["run"],
	{ row, end }: Seen,
	{ from, maxBytes }: { from: number; maxBytes: number },
): Promise<Omit<ChunkRead, "state">> {
	const { rows } = await run(RANGE, [row.job.endpoint, row.job.id, from, end, maxBytes]);
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

/** Done one after the other in a transaction. */
export type ChunkSteps = Pick<ChunkStore, "append" | "reserve" | "deliver">;

export function openChunks({
	run,
	records,
	attempts,
	chunks,
	moves,
	tellOthers,
	kept,
}: UnitOfWork): ChunkSteps {
	async function isRepeat(row: Row, texts: readonly string[]): Promise<boolean> {
		const last = await chunks.last(row, texts.length);
		return last !== undefined && last.every((text, index) => text === texts[index]);
	}

	/** Whether another reader writes chunks of this row, on a server that lives. */
	async function isHeld({ reader: held }: Row, reader: string): Promise<boolean> {
		if (!held || held.reader === reader) return false;
		return (
			held.session === kept.session ||
			!kept.absences.isOver(held.session, (await run(LIVES, [held.session])).rows.length > 0)
		);
	}

	return {
		async append({ endpoint, id, worker, chunks: texts, unlessLast, now }) {
			const found = await records.find({ endpoint, id });
			const row = found && moves.pass(found, now);
			if (!row || row.job.erased) return { ok: false, why: "missing" };
			if (row.job.worker !== worker || row.job.state !== RUNNING) {
				return {
					ok: false,
					why: row.job.worker === worker || attempts.includes(row, worker) ? "stale" : "missing",
				};
			}
			const renewed = moves.renewed(row.job, now);
			const repeat = unlessLast && texts.length > 0 && (await isRepeat(row, texts));
			if (!repeat) texts.forEach((text, index) => chunks.insert(row, row.nextChunk + index, text));
			records.update(row, { job: renewed, nextChunk: row.nextChunk + (repeat ? 0 : texts.length) });
			tellOthers({ kind: "chunks", endpoint, id });
			return { ok: true, repeat };
		},

		async reserve({ endpoint, id, reader, maxBytes, now }) {
			const row = await records.find({ endpoint, id });
			const seen = row && seenOf(row, moves.project(row, now));
			if (!row || !seen) return undefined;
			const { cursor } = row;
			if (await isHeld(row, reader))
				return {
					state: seen.state,
					from: cursor,
					next: cursor,
					chunks: [],
					more: true,
					busy: true,
				};
			const range = await rangeOf(run, seen, { from: cursor, maxBytes });
			if (range.chunks.length > 0)
				records.update(row, { reader: { reader, end: range.next, session: kept.session } });
			return { state: seen.state, ...range };
		},

		async deliver({ endpoint, id, reader, delivered }) {
			const row = await records.find({ endpoint, id });
			const held = row?.reader;
			if (!row || held?.reader !== reader) return;
			records.update(row, {
				reader: undefined,
				...(delivered && held.end > row.cursor && { cursor: held.end }),
			});
			tellOthers({ kind: "chunks", endpoint, id });
		},
	};
}
