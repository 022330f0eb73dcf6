import { read, write } from "../operations/operation.ts";
import { change, rows, sql } from "./work.ts";

const NAME = "alerts";

const READ = sql("SELECT value FROM meta WHERE name = $1");
const INSERT = sql("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING");
const REPLACE = sql("UPDATE meta SET value = $2 WHERE name = $1 AND value = $3");

export const alerts = {
	read: read<"alerts.read">(function* () {
		const [value] = (yield* rows(READ, NAME))[0] ?? [];
		return typeof value === "string" ? value : undefined;
	}),

	replace: write<"alerts.replace">(function* ({ from, to }) {
		return (yield* from === undefined ? change(INSERT, NAME, to) : change(REPLACE, NAME, to, from)) > 0;
	}),
};
