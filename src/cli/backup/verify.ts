/** `sluice verify`: checks a backup, or the store of a stopped service (D46). */
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { loadStore } from "../../config/config.ts";
import { INFO_NAME } from "../../core/backup.ts";
import { verifyStore } from "../../stores.ts";
import type { Action } from "../command.ts";
import { CliError } from "../errors.ts";
import type { Archive } from "./archive.ts";
import { keyPlace, reportText } from "./report.ts";
import { unpack } from "./unpack.ts";

const SQLITE = "SQLite format 3\0";

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
	async run({ args, flags }) {
		const path = args[0] ?? storePath();
		const kind = kindOf(path);
		const key = keyPlace(flags["key-file"] ?? `${path}.secret`);
		let archive: Archive | undefined;
		const report =
			kind === "store"
				? await verifyStore(path, { migrate: false, key }).catch((error: unknown) => {
						throw new CliError((error as Error).message, 1);
					})
				: await inTemporaryFolder(path, async (folder) => {
						const found = await unpack(path, { folder, key });
						({ archive } = found);
						return found.report;
					});
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ file: path, ...archive?.info, ...report })}\n`);
		else process.stdout.write(reportText(path, { report, ...(archive && { archive }), key }));
		return report.problems.length > 0 || report.key === "wrong" ? 1 : 0;
	},
};

/** Returns the path in `SLUICE_STORE`. */
function storePath(): string {
	const loaded = loadStore({ flags: {}, env: process.env, cwd: process.cwd() });
	if (!loaded.ok) throw new CliError(loaded.problems.join("\n"));
	if (loaded.store.kind === "sqlite") return loaded.store.path;
	throw new CliError(
		"SLUICE_STORE is a PostgreSQL database: check it with pg_amcheck, and a base backup with pg_verifybackup.",
	);
}

/** Judges by the beginning of the file: the name of the first entry of a tar is at its start. */
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

/** Uses a folder next to the backup, where there is space; else in the system's folder for temporary files. */
async function inTemporaryFolder<T>(beside: string, use: (folder: string) => Promise<T>): Promise<T> {
	const folder = temporaryFolder(beside);
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	process.once("exit", remove);
	try {
		return await use(folder);
	} finally {
		process.off("exit", remove);
		remove();
	}
}

function temporaryFolder(beside: string): string {
	try {
		return mkdtempSync(join(dirname(beside), `.${basename(beside)}.verify-`));
	} catch {
		return mkdtempSync(join(tmpdir(), "sluice-verify-"));
	}
}
