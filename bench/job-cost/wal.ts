/** What the log of PostgreSQL says of the rows and index entries that were written (`pg_waldump`). */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Figures } from "./meter.ts";

/** Records of tables, by what they did to a row. `lock` is `FOR UPDATE`, which writes as well. */
const ROWS: Readonly<Record<string, string>> = {
	INSERT: "inserted",
	UPDATE: "updated",
	HOT_UPDATE: "hotUpdated",
	DELETE: "deleted",
	LOCK: "locked",
};

const LINE = /^rmgr: (\w+) +len \(rec\/tot\): +(\d+)\/ *(\d+),.*?desc: (\w+)(?:\+INIT)?(.*)$/;
const RELATION = /rel \d+\/\d+\/(\d+)/;

/** A new entry in an index: a leaf got it, with or without a split. */
const isEntry = (kind: string, detail: string): boolean =>
	kind === "INSERT_LEAF" || kind === "INSERT_POST" || (kind.startsWith("SPLIT") && /level:? 0\b/.test(detail));

const most = 2 ** 29;

/** The programs of the server, `pg_waldump` included: the one from npm comes without it. */
export function waldump(): string {
	const programs = process.env["SLUICE_TEST_POSTGRES_PROGRAMS"];
	if (!programs)
		throw new Error("Set SLUICE_TEST_POSTGRES_PROGRAMS to the bin folder of a PostgreSQL that has pg_waldump.");
	return join(programs, "pg_waldump");
}

function add(to: Figures, path: readonly string[], value: number): void {
	const [name, ...rest] = path as [string, ...string[]];
	if (rest.length > 0) add((to[name] ??= {}) as Figures, rest, value);
	else to[name] = ((to[name] as number | undefined) ?? 0) + value;
}

/**
 * Rows by table, entries by index, commits, and bytes of records: by relation and kind without the images of
 * whole pages that follow a checkpoint, and these. `names` has the relations by their file.
 */
export function readWal(q: { dataDir: string; from: string; to: string; names: ReadonlyMap<string, string> }): Figures {
	const args = ["--path", join(q.dataDir, "pg_wal"), "--start", q.from, "--end", q.to];
	const { status, stdout, stderr } = spawnSync(waldump(), args, { encoding: "utf8", maxBuffer: most });
	// Between two moments without work there may be no whole record.
	if (status !== 0 && !stderr.includes("valid record")) throw new Error(stderr);
	const figures: Figures = { rows: {}, indexEntries: { all: 0 }, commits: 0, recordBytes: {}, pageImageBytes: 0 };
	for (const line of stdout.split("\n")) {
		const found = LINE.exec(line);
		if (!found) continue;
		const [, manager, length, total, kind, detail] = found as unknown as [
			string,
			string,
			string,
			string,
			string,
			string,
		];
		const file = RELATION.exec(detail)?.[1];
		const relation = file === undefined ? "none" : (q.names.get(file) ?? "catalogs");
		add(figures, ["recordBytes", relation, kind.toLowerCase()], Number(length));
		add(figures, ["pageImageBytes"], Number(total) - Number(length));
		if (manager === "Transaction" && kind === "COMMIT") add(figures, ["commits"], 1);
		if (manager === "Heap" && ROWS[kind]) add(figures, ["rows", relation, ROWS[kind]], 1);
		if (manager === "Btree" && isEntry(kind, detail)) {
			add(figures, ["indexEntries", relation], 1);
			add(figures, ["indexEntries", "all"], 1);
		}
	}
	return figures;
}
