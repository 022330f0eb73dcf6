/**
 * The archive of a backup (D46): a tar of {@link INFO_NAME}, the database, files next to it, and last
 * {@link SUMS_NAME}, which a truncated archive lacks. An entry `folder/file` belongs into the folder
 * `<database>.folder`.
 */
import { DATABASE_NAME } from "../../kernel/store/contract/store.ts";

/** Version of the archive's form. A reader refuses later ones. */
export const BACKUP_FORMAT = 1;

export const INFO_NAME = "backup.json";
/** Digests of all other entries in the form of `sha256sum`. */
export const SUMS_NAME = "SHA256SUMS";

export interface BackupInfo {
	format: number;
	sluice: string;
	/** Number of the last migration. */
	migration: number;
	/** ISO 8601. */
	madeAt: string;
	/** Bucket that has the bytes of files, which are not in the archive. */
	bucket?: string;
}

/** Other entries are refused: they could be taken for a log of the store or for its key. */
const ENTRY = new RegExp(
	`^(?:${INFO_NAME}|${DATABASE_NAME}|${SUMS_NAME}|payloads/[1-9]\\d{0,14}|files/file-[0-9a-f]{32})$`,
);

export function isEntryName(name: string): boolean {
	return ENTRY.test(name);
}

/** Undefined if the text is not the information of a backup. */
export function backupInfo(text: string): BackupInfo | undefined {
	let found: Partial<BackupInfo> | null;
	try {
		found = JSON.parse(text) as Partial<BackupInfo> | null;
	} catch {
		return undefined;
	}
	const { format, sluice, migration, madeAt, bucket } = found ?? {};
	if (typeof format !== "number" || typeof migration !== "number") return undefined;
	const info = { format, migration, sluice: String(sluice), madeAt: String(madeAt) };
	return bucket === undefined ? info : { ...info, bucket: String(bucket) };
}

export function sumsText(sums: ReadonlyMap<string, string>): string {
	return [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join("");
}

/** Returns undefined if a line has another form. */
export function parseSums(text: string): Map<string, string> | undefined {
	const sums = new Map<string, string>();
	for (const line of text.split("\n")) {
		if (line === "") continue;
		const [, sum, name] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
		if (sum === undefined || name === undefined) return undefined;
		sums.set(name, sum);
	}
	return sums;
}
