/** `sluice verify`: checks a backup, or the store of a stopped service (D46). */
import { closeSync, mkdtempSync, openSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { INFO_NAME } from "../archive-form.ts";
import { verifyStore } from "../../../kernel/stores.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { fail, keyPlace, sqlitePath } from "../../../cli/client/store-flags.ts";
import { reportText } from "./report.ts";
import { inTemporaryFolder, unpack } from "./unpack.ts";

const SQLITE = "SQLite format 3\0";

const POSTGRES =
	"SLUICE_STORE is a PostgreSQL database: check it with pg_amcheck, and a base backup with pg_verifybackup.";

export const verify: Action = {
	name: "verify",
	local: true,
	args: ["[FILE]"],
	summary: "check a backup, or the SQLite store of a stopped service",
	flags: {
		"key-file": {
			value: "FILE",
			summary: "the saved key file; checks that it belongs to the backup (or SLUICE_SECRET)",
		},
		json: { summary: "print problems and summary as JSON" },
	},
	examples: ["sluice verify sluice.tar --key-file /safe/sluice.db.secret"],
	async run({ args: [file], flags }) {
		const path = file ?? sqlitePath(undefined, POSTGRES);
		const kind = kindOf(path);
		const key = keyPlace(flags["key-file"] ?? `${path}.secret`);
		const folder = kind === "backup" ? temporaryFolder(path) : undefined;
		const { archive, report } = folder
			? await inTemporaryFolder(folder, () => unpack(path, { folder, key }))
			: { archive: undefined, report: await verifyStore(path, { migrate: false, key }).catch(fail) };
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ file: path, ...archive?.info, ...report })}\n`);
		else process.stdout.write(reportText(path, { report, archive, key }));
		return report.problems.length > 0 || report.key === "wrong" ? 1 : 0;
	},
};

/** A tar begins with the name of its first entry. */
function kindOf(path: string): "store" | "backup" {
	const begin = Buffer.alloc(SQLITE.length);
	try {
		const file = openSync(path, "r");
		try {
			readSync(file, begin, 0, begin.length, 0);
		} finally {
			closeSync(file);
		}
	} catch (error) {
		throw new CliError(`${path} cannot be read: ${(error as Error).message}.`, 1);
	}
	const text = begin.toString("latin1");
	if (text === SQLITE) return "store";
	if (text.startsWith(`${INFO_NAME}\0`)) return "backup";
	throw new CliError(`${path} is neither a backup made by 'sluice backup' nor a SQLite store.`, 1);
}

/** Makes a folder next to the backup if possible, else in the system's temporary folder. */
function temporaryFolder(backup: string): string {
	try {
		return mkdtempSync(join(dirname(backup), `.${basename(backup)}.verify-`));
	} catch {
		return mkdtempSync(join(tmpdir(), "sluice-verify-"));
	}
}
