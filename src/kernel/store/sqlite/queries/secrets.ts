import { CHECK_NAME } from "../../../secrets/key-check.ts";
import type { DialectHandlers } from "../../operations/table.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";

const COLUMNS = "id, settings, secret, paused, removing, created_at";

const PAGE_ROWS = 1000;

export function openSecrets({ db, records }: UnitOfWork): DialectHandlers<"secrets"> {
	const replaceEndpoint = db.prepare(
		"UPDATE endpoints SET settings = ?, secret = ? WHERE id = ? AND settings = ? AND secret IS ?",
	);
	const select = db.prepare(`SELECT ${COLUMNS} FROM endpoints`);
	const clear = db.prepare("DELETE FROM endpoints");
	const insert = db.prepare(`INSERT INTO endpoints (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`);

	const page = records.prepare(
		"SELECT seq, s3_config FROM (SELECT seq, s3_config FROM jobs WHERE seq > ? ORDER BY seq LIMIT ?)",
	);
	const replaceCheck = db.prepare("UPDATE meta SET value = ?1 WHERE name = ?2 AND value IN (?1, ?3)");

	/**
	 * An update leaves old bytes in its page, and in pages that were split. Emptying the table with `secure_delete`
	 * zeroes its pages.
	 */
	function rewriteEndpoints(): void {
		db.exec("PRAGMA secure_delete = ON");
		try {
			const rows = select.all();
			clear.run();
			for (const row of rows) insert.run(...row);
		} finally {
			db.exec("PRAGMA secure_delete = OFF");
		}
	}

	return {
		jobs({ after = "0" }) {
			const rows = page.all(Number(after), PAGE_ROWS);
			const jobs = rows.flatMap(([seq, s3Config]) => {
				if (s3Config === null) return [];
				const { endpoint, id } = records.at(Number(seq)).job;
				return [{ endpoint, id, s3Config: String(s3Config) }];
			});
			return rows.length < PAGE_ROWS ? { jobs } : { jobs, next: String(rows.at(-1)?.[0]) };
		},

		replaceCheck: ({ from, to }) => Number(replaceCheck.run(to, CHECK_NAME, from).changes) > 0,

		replaceEndpoint({ id, from, to }) {
			const [before, after] = [from.secret ?? null, to.secret ?? null];
			const { changes } = replaceEndpoint.run(to.settings, after, id, from.settings, before);
			if (Number(changes) > 0) rewriteEndpoints();
			return Number(changes) > 0;
		},
	};
}
