/** The old texts stay in dead rows until PostgreSQL vacuums the table. */
import type { SecretStore } from "../../contract/access.ts";
import { CHECK_NAME } from "../../../secrets/key-check.ts";
import type { Signal } from "../../contract/store.ts";
import type { Database } from "../connection/database.ts";
import { statement } from "../connection/statement.ts";

const REPLACE_ENDPOINT = statement(`
  UPDATE endpoints SET settings = $2, secret = $3
  WHERE id = $1 AND settings = $4 AND secret IS NOT DISTINCT FROM $5`);

const REPLACE_CHECK = statement("UPDATE meta SET value = $3 WHERE name = $1 AND value IN ($2, $3)");
const PAGE = statement(`
  SELECT endpoint, id, s3_config FROM jobs WHERE (endpoint, id) > ($1, $2) ORDER BY endpoint, id LIMIT $3`);

const PAGE_ROWS = 1000;

export function openSecrets(
	{ read, write }: Pick<Database, "read" | "write">,
	notifyOthers: (signal: Signal) => void,
): Omit<SecretStore, "replaceJob"> {
	return {
		async jobs({ after }) {
			const [endpoint, id] = (after === undefined ? ["", ""] : JSON.parse(after)) as [string, string];
			const { rows } = await read.run(PAGE, [endpoint, id, PAGE_ROWS]);
			const jobs = rows.flatMap(([of, job, s3Config]) =>
				s3Config === null ? [] : [{ endpoint: String(of), id: String(job), s3Config: String(s3Config) }],
			);
			const last = rows.at(-1);
			return rows.length < PAGE_ROWS || !last ? { jobs } : { jobs, next: JSON.stringify([last[0], last[1]]) };
		},

		async replaceCheck({ from, to }) {
			const { count } = await write((run) => run.run(REPLACE_CHECK, [CHECK_NAME, from, to]));
			return count > 0;
		},

		async replaceEndpoint({ id, from, to }) {
			const values = [id, to.settings, to.secret ?? null, from.settings, from.secret ?? null];
			const { count } = await write((run) => run.run(REPLACE_ENDPOINT, values));
			if (count > 0) notifyOthers({ kind: "endpoints" });
			return count > 0;
		},
	};
}
