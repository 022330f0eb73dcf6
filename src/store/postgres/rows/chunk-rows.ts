/**
 * The chunks of streams in one transaction: what is added and dropped. Who is reading which range
 * stands in the job's row (D7 Delivery).
 */
import { numbers, texts } from "../connection/arrays.ts";
import { keyOf } from "./row.ts";
import type { JobKey, Row } from "./row.ts";
import { statement } from "../connection/statement.ts";
import type { Runner } from "../connection/statement.ts";

const INSERT = statement(
	"INSERT INTO chunks (endpoint, job, number, body) SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[])",
);
const DROP = statement(
	"DELETE FROM chunks USING unnest($1::text[], $2::text[], $3::int8[]) AS gone (endpoint, job, first) WHERE chunks.endpoint = gone.endpoint AND chunks.job = gone.job AND number >= gone.first",
);
const LAST = statement(
	"SELECT body FROM chunks WHERE endpoint = $1 AND job = $2 AND number >= $3 AND number < $4 ORDER BY number",
);

export type ChunkRows = ReturnType<typeof openChunkRows>;

/**
 * The first number that a loss of the running attempt takes away: what is being delivered stays.
 */
export function undelivered({ cursor, reader }: Row): number {
	return Math.max(cursor, reader?.end ?? 0);
}

/** Chunks of the rows of one transaction. */
export function openChunkRows({ run }: { run: Runner["run"] }) {
	const inserted: { key: JobKey; number: number; body: string }[] = [];
	const dropped = new Map<string, { key: JobKey; first: number }>();

	function dropFrom({ job }: Row, first: number): void {
		const { endpoint, id } = job;
		const key = keyOf(job);
		dropped.set(key, {
			key: { endpoint, id },
			first: Math.min(first, dropped.get(key)?.first ?? Infinity),
		});
		for (let at = inserted.length - 1; at >= 0; at -= 1) {
			const each = inserted[at];
			if (each && keyOf(each.key) === key && each.number >= first) inserted.splice(at, 1);
		}
	}

	return {
		insert({ job: { endpoint, id } }: Row, number: number, body: string): void {
			inserted.push({ key: { endpoint, id }, number, body });
		},

		/** The last `count` chunks of the row, if all of them are still there. */
		async last(row: Row, count: number): Promise<string[] | undefined> {
			const first = row.nextChunk - count;
			const { rows } = await run(LAST, [row.job.endpoint, row.job.id, first, row.nextChunk]);
			const fresh = inserted
				.filter(({ key, number }) => keyOf(key) === keyOf(row.job) && number >= first)
				.map(({ body }) => body);
			const found = [...rows.map(([body]) => String(body)), ...fresh];
			return found.length === count ? found : undefined;
		},

		/** Drops chunks and answers where the cursor is then. */
		drop(row: Row, which: "undelivered" | "all"): number {
			const first = which === "all" ? 0 : undelivered(row);
			if (row.nextChunk > first) dropFrom(row, first);
			return which === "all" ? row.nextChunk : first;
		},

		/** Writes what changed. */
		flush(): Promise<unknown>[] {
			const writes: Promise<unknown>[] = [];
			if (dropped.size > 0) {
				const all = [...dropped.values()];
				dropped.clear();
				writes.push(
					run(DROP, [
						texts(all.map(({ key }) => key.endpoint)),
						texts(all.map(({ key }) => key.id)),
						numbers(all.map(({ first }) => first)),
					]),
				);
			}
			const fresh = inserted.splice(0);
			if (fresh.length > 0) {
				writes.push(
					run(INSERT, [
						texts(fresh.map(({ key }) => key.endpoint)),
						texts(fresh.map(({ key }) => key.id)),
						numbers(fresh.map(({ number }) => number)),
						texts(fresh.map(({ body }) => body)),
					]),
				);
			}
			return writes;
		},
	};
}
