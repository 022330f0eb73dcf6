/** The job clock against the time of day. */
import type { DialectHandlers } from "../operations/table.ts";
import { KEPT_STEPS, LAST_SEEN, stepFrom } from "../table-rows.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openTime({ db }: UnitOfWork): DialectHandlers<"time"> {
	const steps = db.prepare("SELECT serial, at, ahead FROM clock_steps ORDER BY serial");
	const add = db.prepare("INSERT INTO clock_steps (serial, at, ahead) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
	const prune = db.prepare("DELETE FROM clock_steps WHERE serial <= ?");
	const last = db.prepare("SELECT value FROM meta WHERE name = ?");
	const put = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");

	return {
		read() {
			const text = last.get(LAST_SEEN)?.[0] as string | undefined;
			return {
				steps: steps.all().map(stepFrom),
				...(text !== undefined && { lastSeen: JSON.parse(text) }),
			};
		},
		step({ serial, at, ahead }) {
			const added = Number(add.run(serial, at, ahead).changes) > 0;
			if (added) prune.run(serial - KEPT_STEPS);
			return added;
		},
		seen: (q) => void put.run(LAST_SEEN, JSON.stringify(q)),
	};
}
