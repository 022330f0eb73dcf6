/** Drained hosts (D44). */
import { read, write } from "../operations/operation.ts";
import { change, rows, sql } from "./work.ts";

const NAMES = sql("SELECT name FROM drained_hosts ORDER BY name");
const ADD = sql("INSERT INTO drained_hosts (name, since) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
const REMOVE = sql("DELETE FROM drained_hosts WHERE name = $1");

export const hosts = {
	drained: read<"hosts.drained">(function* () {
		return (yield* rows(NAMES)).map(([name]) => String(name));
	}),

	drain: write<"hosts.drain">(function* ({ name, drained, now }) {
		if (drained) yield* change(ADD, name, now);
		else yield* change(REMOVE, name);
	}),
};
