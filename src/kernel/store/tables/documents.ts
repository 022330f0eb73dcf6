import { read, write } from "../operations/operation.ts";
import { change, rows, sql } from "./work.ts";

const READ = sql("SELECT value FROM meta WHERE name = $1");
const INSERT = sql("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING");
const REPLACE = sql("UPDATE meta SET value = $2 WHERE name = $1 AND value = $3");

/** Names are those of modules: `meta` has other rows too. */
export const documents = {
	read: read<"documents.read">(function* (name) {
		const [value] = (yield* rows(READ, name))[0] ?? [];
		return typeof value === "string" ? value : undefined;
	}),

	replace: write<"documents.replace">(function* ({ name, from, to }) {
		return (yield* from === undefined ? change(INSERT, name, to) : change(REPLACE, name, to, from)) > 0;
	}),
};
