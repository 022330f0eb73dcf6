/** Checks a store that no service has open (D46). */
import { type Database, openDatabase } from "./database.ts";
import { unavailable } from "./disk-errors.ts";
import { filesFolder } from "./files-folder.ts";
import { allMigrations, pendingMigrations, prepareSchema } from "./schema.ts";
import { readSecrets } from "./stored-secrets.ts";
import { damagedTexts } from "../rows/text-sums.ts";
import { bucketNameIn, PLACE_DOCUMENT } from "../../contract/files.ts";
import { RUNNING, WAITING } from "../../row.ts";
import type { StoredSecrets } from "../../../secrets/key-check.ts";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { BLOCK_BYTES } from "../../../lib/json/json-text.ts";
import { payloadFolder } from "../payload-files/payload-files.ts";

export interface Verification {
	problems: string[];
	notes: string[];
	/** Absent if the file cannot be read. */
	summary?: ReturnType<typeof summaryOf>;
	secrets?: StoredSecrets;
}

const NAMED = 3;

/** Finds large texts whose location in a payload file is unknown. */
const torn = (table: string, id: string, column: string): string =>
	`SELECT ${id} FROM ${table} WHERE typeof(${column}) NOT IN ('text', 'null')
		AND NOT EXISTS (SELECT 1 FROM payloads WHERE payloads.number = ${table}.${column})`;

const INPUT_BYTES = `CASE typeof(input) WHEN 'text' THEN octet_length(input)
	ELSE (SELECT length FROM payloads WHERE payloads.number = input) END`;

/** Waiting jobs that are still to be removed (D11). */
const PURGED = "rank BETWEEN purged_from AND purged_to";

const RULES: readonly (readonly [problem: string, sql: string])[] = [
	[
		"jobs have no input",
		"SELECT id FROM jobs WHERE erased = 0 AND NOT EXISTS (SELECT 1 FROM inputs WHERE inputs.seq = jobs.seq)",
	],
	["jobs belong to no queue", "SELECT id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM queues WHERE number = queue)"],
	...["inputs", "results", "chunks", "attempts"].map(
		(table) =>
			[
				`${table} belong to no job`,
				`SELECT seq FROM ${table} WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.seq = ${table}.seq)`,
			] as const,
	),
	["inputs are incomplete", torn("inputs", "seq", "input")],
	["results are incomplete", torn("results", "seq", "output")],
	["bodies of webhooks are incomplete", torn("delivery_bodies", "number", "payload")],
	[
		"large payloads count other references than they have",
		`WITH used AS (
				SELECT input AS of FROM inputs WHERE typeof(input) <> 'text'
				UNION ALL SELECT output FROM results WHERE typeof(output) NOT IN ('text', 'null')
				UNION ALL SELECT payload FROM delivery_bodies WHERE payload IS NOT NULL
			)
			SELECT number FROM payloads LEFT JOIN (SELECT of, count(*) AS times FROM used GROUP BY of)
				ON of = number WHERE refs <> coalesce(times, 0)`,
	],
	[
		"chunks have a number that their job has not reached",
		"SELECT id FROM chunks JOIN jobs USING (seq) WHERE number >= next_chunk",
	],
	[
		"jobs have an end that does not fit their state",
		`SELECT id FROM jobs WHERE (state IN ('${WAITING}', '${RUNNING}')) = (ended_at IS NOT NULL)`,
	],
	[
		"running jobs have no worker or no lease",
		`SELECT id FROM jobs WHERE state = '${RUNNING}'
			AND (worker IS NULL OR started_at IS NULL OR lease_until IS NULL)`,
	],
	[
		"endpoints count other numbers of waiting or running jobs than they have",
		`SELECT endpoint FROM queues q WHERE
			in_queue <> (SELECT count(*) FROM jobs WHERE queue = q.number AND state = '${WAITING}'
				AND NOT (${PURGED})) OR
			in_queue_low <> (SELECT count(*) FROM jobs WHERE queue = q.number AND state = '${WAITING}'
				AND low_priority = 1 AND NOT (${PURGED})) OR
			in_progress <> (SELECT count(*) FROM jobs WHERE queue = q.number AND state = '${RUNNING}')`,
	],
	[
		"endpoints count another sum of stored bytes than their jobs",
		`SELECT endpoint FROM queues q WHERE stored_bytes <>
			(SELECT coalesce(sum(input_bytes + output_bytes), 0) FROM jobs WHERE queue = q.number AND erased = 0)`,
	],
	[
		// Characters of a short text, bytes of a long one; 0 in rows of earlier versions.
		"jobs count another size of their input than it has",
		`SELECT id FROM jobs JOIN inputs USING (seq) WHERE input_bytes > 0 AND erased = 0 AND
			input_bytes NOT BETWEEN
				CASE typeof(input) WHEN 'text' THEN length(input) ELSE ${INPUT_BYTES} END
				AND ${INPUT_BYTES}`,
	],
	[
		"pending webhooks have no body",
		`SELECT id FROM deliveries WHERE state = 'pending'
			AND NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.number = deliveries.number)`,
	],
	[
		"bodies belong to no webhook",
		`SELECT number FROM delivery_bodies b
			WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.number = b.number)`,
	],
	[
		"endpoints count other files than they have",
		`SELECT endpoint FROM (SELECT endpoint, count(*) AS files, sum(bytes) AS bytes FROM files GROUP BY endpoint) AS own
			FULL JOIN file_totals USING (endpoint)
			WHERE coalesce(own.files, 0) <> coalesce(file_totals.files, 0)
				OR coalesce(own.bytes, 0) <> coalesce(file_totals.bytes, 0)`,
	],
	["endpoints have unreadable settings", "SELECT id FROM endpoints WHERE NOT json_valid(settings)"],
	["API keys have unreadable scopes", "SELECT id FROM keys WHERE NOT json_valid(scopes)"],
];

/**
 * Opens the file as a service does: none can use it meanwhile. `migrate`: applies missing migrations; without, the rows
 * of an earlier schema are not checked. Throws an Error for the operator if the file is no store of this or an earlier
 * version, or in use.
 */
export async function verify(path: string, { migrate }: { migrate: boolean }): Promise<Verification> {
	const problems: string[] = [];
	const notes: string[] = [];
	let db: Database | undefined;
	try {
		db = openDatabase({ path });
		const missing = await pendingMigrations(db);
		if (missing.length === allMigrations().length)
			return { problems: [`${path} is empty: it has no tables of Sluice.`], notes };
		problems.push(...integrity(db));
		if (problems.length > 0) return { problems, notes };
		const migration = allMigrations().length - missing.length;
		if (migrate) await prepareSchema(db);
		else if (missing.length > 0) {
			notes.push(
				`The schema is that of an earlier version (migration ${migration}): rules between rows were ` +
					"not checked. The next start of the service migrates it.",
			);
			return { problems, notes };
		}
		for (const [problem, sql] of RULES) {
			const found = db.prepare(`${sql} LIMIT 1000`).all();
			const names = found.slice(0, NAMED).map(([name]) => String(name));
			if (found.length > 0)
				problems.push(
					`${found.length}${found.length === 1000 ? " or more" : ""} ${problem}: ${names.join(", ")}` +
						`${found.length > NAMED ? ", ..." : ""}.`,
				);
		}
		problems.push(...damagedTexts(db), ...damagedFiles(db));
		const lost = lostFiles(db);
		problems.push(...lost.problems);
		notes.push(...lost.notes);
		return { problems, notes, summary: summaryOf(db, migration), secrets: readSecrets(db) };
	} catch (error) {
		const fault = unavailable(error, path);
		if (fault?.why !== "damaged") throw error;
		return { problems: [fault.message], notes };
	} finally {
		db?.close();
	}
}

function integrity(db: Database): string[] {
	const lines = db.prepare("PRAGMA integrity_check(20)").all();
	return lines.flatMap(([line]) => (line === "ok" ? [] : [`SQLite: ${String(line)}.`]));
}

/** `migration`: the last one before {@link verify} applied others. */
function summaryOf(db: Database, migration: number) {
	const number = (sql: string): number => Number(db.prepare(sql).get()?.[0]);
	const states = db.prepare("SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state").all();
	const byState = Object.fromEntries(states.map(([state, jobs]) => [String(state), Number(jobs)]));
	return {
		migration,
		jobs: Object.values(byState).reduce((sum, jobs) => sum + jobs, 0),
		byState,
		endpoints: db
			.prepare("SELECT id FROM endpoints ORDER BY id")
			.all()
			.map(([id]) => String(id)),
		keys: number("SELECT count(*) FROM keys"),
		deliveries: number("SELECT count(*) FROM deliveries"),
		pendingDeliveries: number("SELECT count(*) FROM deliveries WHERE state = 'pending'"),
		files: number("SELECT count(*) FROM files"),
		/** Same count as for quotas (D43). */
		storedBytes: number("SELECT coalesce(sum(stored_bytes), 0) FROM queues"),
	};
}

const MOST_FAULTS = 3;

/** A sentence for each file that is missing or damaged (D46). */
export function damagedFiles(db: Database): string[] {
	const folder = payloadFolder(db.path);
	const texts = db.prepare("SELECT at, length, sum FROM payloads WHERE segment = ? ORDER BY at");
	return db
		.prepare("SELECT DISTINCT segment FROM payloads")
		.all()
		.flatMap(([segment]) => {
			const path = join(folder, String(segment));
			try {
				const file = openSync(path, "r");
				try {
					const wrong = (texts.all(segment!) as [number, number, number][]).filter((text) => !isWhole(file, text));
					if (wrong.length === 0) return [];
					const places = wrong.slice(0, MOST_FAULTS).map(([at]) => at);
					return [
						`${wrong.length} large payloads in ${path} are not as they were written: at byte ` +
							`${places.join(", ")}${wrong.length > MOST_FAULTS ? ", ..." : ""}.`,
					];
				} finally {
					closeSync(file);
				}
			} catch (error) {
				return [`${path} cannot be read: ${(error as Error).message}.`];
			}
		});
}

/** Uploaded files whose bytes are missing or cut off (D56); with a bucket, those that are to be there (D61). */
function lostFiles(db: Database): Pick<Verification, "problems" | "notes"> {
	const { path } = filesFolder(db.path);
	const bucket = bucketOf(db);
	const rows = db.prepare("SELECT id, bytes FROM files ORDER BY id").all();
	const sized = rows.map(
		([id, bytes]) => [id, bytes, statSync(join(path, String(id)), { throwIfNoEntry: false })?.size] as const,
	);
	const elsewhere = bucket === undefined ? [] : sized.filter(([, , size]) => size === undefined);
	const lost = sized.filter(([, bytes, size]) => size !== bytes && !(bucket !== undefined && size === undefined));
	const names = lost.slice(0, NAMED).map(([id]) => id);
	const list = `${names.join(", ")}${lost.length > NAMED ? ", ..." : ""}`;
	return {
		problems: lost.length === 0 ? [] : [`${lost.length} files are not whole in ${path}: ${list}.`],
		notes:
			elsewhere.length === 0
				? []
				: [`${elsewhere.length} of ${rows.length} files are in the bucket ${bucket}, which was not checked.`],
	};
}

function bucketOf(db: Database): string | undefined {
	const [text] = db.prepare("SELECT value FROM meta WHERE name = ?").all(PLACE_DOCUMENT)[0] ?? [];
	return bucketNameIn(text as string | undefined);
}

function isWhole(file: number, [at, length, sum]: [number, number, number]): boolean {
	const piece = Buffer.alloc(Math.min(length, BLOCK_BYTES));
	let found = 0;
	for (let done = 0; done < length; ) {
		const bytes = readSync(file, piece, 0, Math.min(piece.length, length - done), at + done);
		if (bytes === 0) return false;
		found = crc32(piece.subarray(0, bytes), found);
		done += bytes;
	}
	return found === sum;
}
