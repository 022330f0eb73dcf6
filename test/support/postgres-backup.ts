/** A base backup of a PostgreSQL that runs, as `pg_basebackup` makes it, which npm does not bring. */
import { chown, copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import type { ServerUser } from "./postgres-programs.ts";

/** Folders whose content a backup leaves out. */
const EMPTY: ReadonlySet<string> = new Set([
	"pg_dynshmem",
	"pg_notify",
	"pg_replslot",
	"pg_serial",
	"pg_snapshots",
	"pg_stat_tmp",
	"pg_subtrans",
	"pg_wal",
]);
const LEFT_OUT: ReadonlySet<string> = new Set([
	"backup_label",
	"pg_internal.init",
	"postmaster.opts",
	"postmaster.pid",
	"standby.signal",
]);

/** The first version with `pg_backup_start`; before it was `pg_start_backup`. */
const RENAMED_SINCE = 150_000;

/**
 * Copies the data of the server at `adminUrl` from one folder to another, and reserves the WAL that
 * a standby of this copy needs in a replication slot of that name.
 */
export async function baseBackup(q: {
	adminUrl: string;
	from: string;
	to: string;
	slot: string;
	user: ServerUser;
}): Promise<void> {
	// The backup belongs to this session.
	const client = new Client({ connectionString: q.adminUrl });
	await client.connect();
	try {
		const { rows } = await client.query<{ version: number }>(
			"SELECT current_setting('server_version_num')::int AS version",
		);
		const isNew = rows[0]!.version >= RENAMED_SINCE;
		await client.query("SELECT pg_create_physical_replication_slot($1, true)", [q.slot]);
		await client.query(isNew ? "SELECT pg_backup_start('copy', true)" : "SELECT pg_start_backup('copy', true, false)");
		await copyData(q.from, q.to, q.user);
		const { rows: labels } = await client.query<{ labelfile: string }>(
			`SELECT labelfile FROM ${isNew ? "pg_backup_stop()" : "pg_stop_backup(false)"}`,
		);
		const label = join(q.to, "backup_label");
		await writeFile(label, labels[0]!.labelfile);
		if (q.user) await chown(label, q.user.uid, q.user.gid);
	} finally {
		await client.end();
	}
}

async function copyData(from: string, to: string, user: ServerUser): Promise<void> {
	await mkdir(to, { mode: 0o700 });
	if (user) await chown(to, user.uid, user.gid);
	for (const entry of await readdir(from, { withFileTypes: true })) {
		const { name } = entry;
		const [source, target] = [join(from, name), join(to, name)];
		if (entry.isDirectory() && !EMPTY.has(name)) await copyData(source, target, user);
		else {
			if (entry.isDirectory()) await mkdir(target, { mode: 0o700 });
			else if (LEFT_OUT.has(name) || !(await copied(source, target))) continue;
			if (user) await chown(target, user.uid, user.gid);
		}
	}
}

/** Whether the file still existed. */
async function copied(from: string, to: string): Promise<boolean> {
	try {
		await copyFile(from, to);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}
