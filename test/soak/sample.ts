/** What is measured every few seconds: processes, files and tables of the store. */
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import type { MeasuredSite, SiteStore } from "../torture/site.ts";

/** Of one process. Sizes are bytes. */
export interface ProcessSample {
	pid: number;
	memory: number;
	descriptors: number;
	/** Seconds of processor time since its start. */
	cpu: number;
}

/** Of the store; what the other store does not have is missing. */
export interface StoreSample {
	/** Tables with their indexes; missing where they were not measured. */
	data?: number;
	/** Of the SQLite file. */
	file?: number;
	/** SQLite: the log; PostgreSQL: its folder of segments, which it uses again. */
	wal: number;
	/** Of the service, beside the SQLite file. */
	payloads?: number;
	payloadFiles?: number;
	/** Dead rows of all tables, as PostgreSQL counts them since its last crash. */
	dead?: number;
	/** Of all processes of PostgreSQL, shared pages divided among them. */
	memory?: number;
	/** Size of each table with its indexes. */
	tables?: Record<string, number>;
}

/** Undefined when the process has just ended. */
export function processSample(pid: number): ProcessSample | undefined {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		const memory = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) * 1024;
		const descriptors = readdirSync(`/proc/${pid}/fd`).length;
		return Number.isNaN(memory) ? undefined : { pid, memory, descriptors, cpu: cpuOf(pid) };
	} catch {
		return undefined;
	}
}

/** Of the kernel's times, per second. */
const TICKS = 100;

function cpuOf(pid: number): number {
	// The name before the last bracket may contain spaces.
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

export interface StoreProbe {
	/** Undefined while the store is down. */
	sample(): Promise<StoreSample | undefined>;
	end(): Promise<void>;
}

export function storeProbe(store: MeasuredSite["store"]): StoreProbe {
	return store.kind === "sqlite" ? sqliteProbe(store.file) : postgresProbe(store);
}

function sizeOf(file: string): number {
	return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Tables of SQLite are measured in one of so many samples: it takes a copy. */
const TABLES_EVERY = 12;

const PAGES = `
  SELECT tbl_name AS name, sum(pgsize) AS size FROM dbstat JOIN sqlite_schema USING (name)
  GROUP BY tbl_name`;

/** Undefined if the file changed too much while it was copied. */
function tablesOf(file: string): Pick<StoreSample, "data" | "tables"> | undefined {
	const folder = mkdtempSync(join(tmpdir(), "sluice-pages-"));
	try {
		const copy = join(folder, "copy.db");
		copyFileSync(`${file}-wal`, `${copy}-wal`);
		copyFileSync(file, copy);
		const db = new DatabaseSync(copy);
		const rows = db.prepare(PAGES).all() as { name: string; size: number }[];
		db.close();
		const tables = Object.fromEntries(rows.map(({ name, size }) => [name, size]));
		return { tables, data: Object.values(tables).reduce((sum, size) => sum + size, 0) };
	} catch {
		return undefined;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function sqliteProbe(file: string): StoreProbe {
	const folder = `${file}.payloads`;
	let samples = 0;
	return {
		async sample() {
			samples += 1;
			const isThere = statSync(folder, { throwIfNoEntry: false }) !== undefined;
			const files = isThere ? readdirSync(folder) : [];
			const sizes = files.map((name) => sizeOf(join(folder, name)));
			return {
				...(samples % TABLES_EVERY === 0 && tablesOf(file)),
				file: sizeOf(file),
				wal: sizeOf(`${file}-wal`),
				payloads: sizes.reduce((sum, size) => sum + size, 0),
				payloadFiles: files.length,
			};
		},
		end: async () => {},
	};
}

const TABLES = `
  SELECT relname, pg_total_relation_size(relid)::float8, n_dead_tup::float8
  FROM pg_stat_user_tables`;
const WAL = "SELECT sum(size)::float8 FROM pg_ls_waldir()";

function postgresProbe({ adminUrl, dataDir }: SiteStore & { kind: "postgres" }): StoreProbe {
	let client: Client | undefined;

	async function connected(): Promise<Client> {
		if (client) return client;
		const fresh = new Client({ connectionString: adminUrl, connectionTimeoutMillis: 5000 });
		const drop = (): void => void (client === fresh && (client = undefined));
		fresh.on("error", drop);
		fresh.on("end", drop);
		await fresh.connect();
		return (client = fresh);
	}

	async function rowsOf(sql: string): Promise<any[][]> {
		return (await (await connected()).query({ text: sql, rowMode: "array" })).rows;
	}

	return {
		async sample() {
			try {
				const tables = await rowsOf(TABLES);
				const [[wal]] = (await rowsOf(WAL)) as [[number]];
				return {
					data: tables.reduce((sum, [, size]) => sum + size, 0),
					dead: tables.reduce((sum, [, , dead]) => sum + dead, 0),
					wal,
					memory: memoryOfServer(dataDir),
					tables: Object.fromEntries(tables.map(([name, size]) => [name, size])),
				};
			} catch {
				client = undefined;
				return undefined;
			}
		},
		async end() {
			await client?.end().catch(() => {});
		},
	};
}

/** Proportional memory of the postmaster and its children. */
function memoryOfServer(dataDir: string): number {
	const postmaster = readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")[0]!;
	const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
	const pids = [postmaster, ...children.trim().split(" ")].filter((pid) => pid !== "");
	return pids.reduce((sum, pid) => sum + proportional(pid), 0);
}

function proportional(pid: string): number {
	try {
		const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
		return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
	} catch {
		return 0;
	}
}
