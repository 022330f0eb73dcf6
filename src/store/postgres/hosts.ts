/** Drained hosts (D44). */
import type { HostStore } from "../contract/hosts.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

const NAMES = statement("SELECT name FROM drained_hosts ORDER BY name");
const ADD = statement("INSERT INTO drained_hosts (name, since) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
const REMOVE = statement("DELETE FROM drained_hosts WHERE name = $1");

export function openHosts({ database: { read, write } }: { database: Database }): HostStore {
	return {
		drained: async () => (await read.run(NAMES)).rows.map(([name]) => String(name)),
		async drain({ name, drained, now }) {
			await write((run) => (drained ? run.run(ADD, [name, now]) : run.run(REMOVE, [name])));
		},
	};
}
