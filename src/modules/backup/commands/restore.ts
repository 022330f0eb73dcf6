/** `sluice restore`: puts the store of a backup in place (D46). */
import { linkSync, lstatSync, mkdtempSync, readFileSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DATABASE_NAME } from "../../../kernel/store/contract/store.ts";
import { createFile, flushFile, makeFolder } from "../../../kernel/system/durable-file.ts";
import { renewIdentity, type StoreReport } from "../../../kernel/stores.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { fail, keyPlace, sqlitePath } from "../../../cli/client/store-flags.ts";
import { reportText } from "./report.ts";
import { inTemporaryFolder, unpack } from "./unpack.ts";

/** SQLite would take these for parts of the restored store. */
const PARTS = ["", "-wal", "-shm", "-journal", ".payloads", ".files"] as const;

const POSTGRES =
	"--store is a PostgreSQL database: restore it with its own tools, such as: " +
	'pg_restore --dbname="$SLUICE_STORE" sluice.dump';

export const restore: Action = {
	name: "restore",
	local: true,
	args: ["FILE"],
	summary: "put the store of a backup in place, after a check; the service must not run",
	flags: {
		store: {
			value: "STORE",
			summary: "where the store is made, as for sluice serve; must not exist (default SLUICE_STORE)",
		},
		"key-file": { value: "FILE", summary: "the saved key file; it is checked, and copied next to the store" },
		"new-identity": {
			summary: "for a copy that runs together with the original: it leaves the workers of that alone",
		},
		json: { summary: "print what was restored as JSON" },
	},
	examples: ["sluice restore sluice.tar --store sqlite:data/sluice.db"],
	async run({ args: [file = ""], flags }) {
		const path = sqlitePath(flags["store"], POSTGRES);
		refuseExisting(path);
		makeFolder(dirname(path));
		const own = `${path}.secret`;
		const keyFile = flags["key-file"];
		const key = keyPlace(keyFile ?? own);
		// On the same file system, because renaming puts it in place.
		const folder = mkdtempSync(join(dirname(path), `.${basename(path)}.restore-`));
		const { archive, report } = await inTemporaryFolder(folder, async () => {
			const unpacked = await unpack(file, { folder, key });
			if (unpacked.report.problems.length > 0)
				throw new CliError(`${reportText(file, { ...unpacked, key })}Nothing was restored. Use another backup.`, 1);
			if (keyFile !== undefined && unpacked.report.key === "wrong")
				throw new CliError(`${keyFile} is not the key of this backup. Nothing was restored.`, 1);
			if (flags["new-identity"]) await renewIdentity(join(folder, DATABASE_NAME), key).catch(fail);
			putInPlace(folder, path);
			return unpacked;
		});
		if (keyFile !== undefined && keyFile !== own) copyKey(keyFile, own);
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ store: path, ...archive.info, ...report })}\n`);
		else {
			process.stdout.write(`Restored ${path}.\n${reportText(file, { report, archive, key })}`);
			process.stderr.write(notes(path, report.key));
		}
		return 0;
	},
};

/** Refuses files of another store, including those that SQLite adds. */
function refuseExisting(path: string): void {
	for (const part of PARTS)
		if (lstatSync(path + part, { throwIfNoEntry: false }))
			throw new CliError(
				`${path}${part} exists; a restore never replaces a store. Stop the service and move the old files ` +
					`(${PARTS.map((each) => basename(path) + each).join(", ")}) into another folder, or name another --store.`,
			);
}

/** The database is last, because with it the store exists. */
function putInPlace(folder: string, path: string): void {
	for (const entry of readdirSync(folder, { withFileTypes: true }))
		if (entry.isDirectory()) {
			flushFile(join(folder, entry.name));
			renameSync(join(folder, entry.name), path + entry.name.slice(DATABASE_NAME.length));
		}
	const database = join(folder, DATABASE_NAME);
	flushFile(database);
	try {
		// Fails if another process has created it meanwhile.
		linkSync(database, path);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EEXIST") throw new CliError(`${path} was made meanwhile; nothing was replaced.`, 1);
		renameSync(database, path);
	}
	flushFile(path);
}

/** An existing key file is never replaced. */
function copyKey(from: string, to: string): void {
	const text = readFileSync(from, "utf8");
	if (createFile(to, text) || readFileSync(to, "utf8") === text) return;
	throw new CliError(
		`The store was restored, but ${to} has another key than ${from}. Rename it and copy ${from} there.`,
		1,
	);
}

function notes(path: string, key: StoreReport["key"]): string {
	const lines: Partial<Record<StoreReport["key"], string>> = {
		missing:
			`Before the start, put the saved key file at ${path}.secret (mode 0600), or set SLUICE_SECRET. ` +
			"Without the key the service refuses to start; 'sluice migrate --new-secret' gives up the secrets.\n",
		wrong:
			"The key at hand is not the one of this store: the service will refuse to start with it. Put the right " +
			`key file at ${path}.secret, or set SLUICE_SECRET to the right text.\n`,
	};
	return (
		(lines[key] ?? "") +
		"What happened after the backup is not in it: jobs that ended since may run again, API keys that were " +
		"revoked since are valid again.\n"
	);
}
