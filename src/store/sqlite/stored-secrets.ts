/**
 * The check value of the encryption key, and encrypted texts that identify the key while there is
 * no check value (D22).
 */
import { randomUUID } from "node:crypto";
import { ANY_KEY, CHECK_NAME, type StoredSecrets } from "../key-check.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./schema.ts";

/** Maximum number of jobs whose `s3Config` is read: the newest, encrypted with the last key in use. */
const JOBS = 100;

/** Reads what is stored; creates the store's identity if missing. */
export function readSecrets(db: Database): StoredSecrets {
	const select = db.prepare("SELECT value FROM meta WHERE name = ?");
	if (select.get("identity") === undefined) {
		const made = randomUUID().replaceAll("-", "");
		inTransaction(db, () => db.prepare("INSERT INTO meta (name, value) VALUES ('identity', ?)").run(made));
	}
	const identity = String(select.get("identity")?.[0]);
	const check = select.get(CHECK_NAME)?.[0] as string | undefined;
	return { identity, check, encrypted: check === undefined ? encryptedTexts(db) : [] };
}

function encryptedTexts(db: Database): string[] {
	const endpoints = db.prepare("SELECT secret FROM endpoints WHERE secret IS NOT NULL").all();
	const jobs = db.prepare("SELECT s3_config FROM jobs WHERE s3_config IS NOT NULL ORDER BY seq DESC LIMIT ?").all(JOBS);
	return [...endpoints, ...jobs].map(([text]) => String(text));
}

/** Stores the check value of the key. */
export function keepCheck(db: Database, check: string): void {
	inTransaction(db, () => db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(CHECK_NAME, check));
}

/** Accepts any next key. Texts encrypted with another key become unreadable. */
export function acceptNewKey(db: Database): void {
	keepCheck(db, ANY_KEY);
}

/** Gives the store another identity; `checkOf` makes the check value that belongs to it. */
export function renewIdentity(db: Database, checkOf: (identity: string) => string): void {
	const identity = randomUUID().replaceAll("-", "");
	const put = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
	inTransaction(db, () => {
		put.run("identity", identity);
		put.run(CHECK_NAME, checkOf(identity));
	});
}
