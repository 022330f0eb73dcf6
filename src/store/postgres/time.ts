/** The job clock against the time of day, which is the database's. */
import type { LastSeen, TimeStore } from "../contract/time.ts";
import { KEPT_STEPS, LAST_SEEN, stepFrom } from "../table-rows.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

const STEPS = statement("SELECT serial, at, ahead FROM clock_steps ORDER BY serial");
const ADD = statement("INSERT INTO clock_steps (serial, at, ahead) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
const PRUNE = statement("DELETE FROM clock_steps WHERE serial <= $1");
const LAST = statement("SELECT value FROM meta WHERE name = $1");
const PUT = statement(
	`INSERT INTO meta (name, value) VALUES ($1, $2)
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
);

export function openTime({ database: { read, write } }: { database: Database }): TimeStore {
	return {
		async read() {
			const [steps, last] = await Promise.all([read.run(STEPS), read.run(LAST, [LAST_SEEN])]);
			const text = last.rows[0]?.[0];
			return {
				steps: steps.rows.map(stepFrom),
				...(text !== undefined && { lastSeen: JSON.parse(String(text)) as LastSeen }),
			};
		},
		step: ({ serial, at, ahead }) =>
			write(async ({ run }) => {
				const { count } = await run(ADD, [serial, at, ahead]);
				if (count > 0) await run(PRUNE, [serial - KEPT_STEPS]);
				return count > 0;
			}),
		async seen(q) {
			await write((run) => run.run(PUT, [LAST_SEEN, JSON.stringify(q)]));
		},
	};
}
