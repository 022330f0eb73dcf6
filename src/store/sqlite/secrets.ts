/** Replaces encrypted texts, and overwrites the old ones in the file. */
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

const COLUMNS = "id, settings, secret, paused, removing, created_at";

export function openSecrets({ db }: UnitOfWork): DialectHandlers<"secrets"> {
	const replaceEndpoint = db.prepare(
		"UPDATE endpoints SET settings = ?, secret = ? WHERE id = ? AND settings = ? AND secret IS ?",
	);
	const select = db.prepare(`SELECT ${COLUMNS} FROM endpoints`);
	const clear = db.prepare("DELETE FROM endpoints");
	const insert = db.prepare(`INSERT INTO endpoints (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`);

	/**
	 * An update leaves old bytes in its page, and in pages that were split. Emptying the table with
	 * `secure_delete` zeroes its pages.
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
		replaceEndpoint({ id, from, to }) {
			const [before, after] = [from.secret ?? null, to.secret ?? null];
			const { changes } = replaceEndpoint.run(to.settings, after, id, from.settings, before);
			if (Number(changes) > 0) rewriteEndpoints();
			return Number(changes) > 0;
		},
	};
}
