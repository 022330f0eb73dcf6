/** Bytes of files, 1 MiB in a row (D56). */
import type { PieceStore } from "../../contract/files.ts";
import { losesConnection } from "../connection/errors.ts";
import { type Runner, statement } from "../connection/statement.ts";

const PUT = statement(`
  INSERT INTO file_pieces (file, number, written_at, content) VALUES ($1, $2, $3, $4)
  ON CONFLICT (file, number) DO UPDATE SET written_at = excluded.written_at, content = excluded.content`);
/** Hexadecimal digits, which the driver would get otherwise, are twice the bytes. */
const GET = statement("SELECT encode(content, 'base64') FROM file_pieces WHERE file = $1 AND number = $2");
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
	const run: Runner["run"] = async (asked, values) => {
		try {
			return await connection.run(asked, values);
		} catch (error) {
			if (!losesConnection(error)) throw error;
			return await connection.run(asked, values);
		}
	};

	return {
		async put({ file, number, bytes, now }) {
			const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
			await run(PUT, [file, number, now, content]);
		},

		async get({ file, number }) {
			const [found] = (await run(GET, [file, number])).rows;
			return found && Buffer.from(String(found[0]), "base64");
		},

		async touch({ file, now }) {
			return Number((await run(TOUCH, [file, now])).rows[0]![0]);
		},

		async remove({ file }) {
			while ((await run(REMOVE, [file])).count > 0);
		},

		sweep: async ({ before }) => (await run(SWEEP, [before])).count,
	};
}
