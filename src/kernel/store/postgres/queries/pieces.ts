/** Bytes of files, 1 MiB in a row (D56). */
import { escapeLiteral } from "pg";
import type { PieceStore } from "../../contract/files.ts";
import { losesConnection } from "../connection/errors.ts";
import { type Runner, statement } from "../connection/statement.ts";

const PUT = statement(`
  INSERT INTO file_pieces (file, number, written_at, content) VALUES ($1, $2, $3, $4)
  ON CONFLICT (file, number) DO UPDATE SET written_at = excluded.written_at, content = excluded.content`);
/** Bytes in a row of an answer: the driver gathers each row in a buffer of twice its size. */
const ROW_BYTES = 65_536;
/** COPY has no parameters. The order is that of the inner statement, so that no row is sorted with its bytes. */
const get = (file: string, number: number): string => `
  COPY (SELECT substring(content FROM first FOR ${ROW_BYTES}) FROM (
    SELECT content, first FROM file_pieces, generate_series(1, length(content), ${ROW_BYTES}) AS first
    WHERE file = ${escapeLiteral(file)} AND number = ${Math.trunc(number)} ORDER BY first) AS parts)
  TO STDOUT (FORMAT binary)`;
const TOUCH = statement(`
  WITH all_pieces AS (SELECT count(*) AS pieces FROM file_pieces WHERE file = $1),
    last AS (UPDATE file_pieces SET written_at = $2
      WHERE file = $1 AND number = (SELECT max(number) FROM file_pieces WHERE file = $1))
  SELECT pieces FROM all_pieces`);
// A statement for all pieces of a large file would outlast its time limit, and hold up uploads and downloads.
const PIECES_AT_ONCE = 64;
const REMOVE = statement(`
  DELETE FROM file_pieces WHERE file = $1
    AND number IN (SELECT number FROM file_pieces WHERE file = $1 ORDER BY number LIMIT ${PIECES_AT_ONCE})`);
const SWEEP = statement(`
  WITH old AS MATERIALIZED (
    SELECT file FROM file_pieces WHERE NOT EXISTS (SELECT 1 FROM files WHERE files.id = file_pieces.file)
    GROUP BY file HAVING max(written_at) < $1 LIMIT ${PIECES_AT_ONCE}),
  few AS MATERIALIZED (SELECT file, number FROM file_pieces JOIN old USING (file) LIMIT ${PIECES_AT_ONCE})
  DELETE FROM file_pieces USING few
    WHERE file_pieces.file = few.file AND file_pieces.number = few.number`);

/** The connection is of its own: pieces of many uploads would make other transactions wait. */
export function openPieces(connection: Runner): PieceStore {
	/** Each statement may be repeated if the connection is lost. */
	async function twice<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			if (!losesConnection(error)) throw error;
			return await work();
		}
	}

	const run: Runner["run"] = (asked, values) => twice(() => connection.run(asked, values));

	return {
		async put({ file, number, bytes, now }) {
			const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
			await run(PUT, [file, number, now, content]);
		},

		get: ({ file, number, into }) =>
			twice(async () => {
				let bytes = 0;
				const take = (value: Buffer): void => {
					if (bytes + value.length <= into.length) into.set(value, bytes);
					bytes += value.length;
				};
				const { count } = await connection.run({ text: get(file, number), take });
				return count === 0 ? undefined : bytes;
			}),

		async touch({ file, now }) {
			return Number((await run(TOUCH, [file, now])).rows[0]![0]);
		},

		async remove({ file }) {
			while ((await run(REMOVE, [file])).count > 0);
		},

		sweep: async ({ before }) => (await run(SWEEP, [before])).count,
	};
}
