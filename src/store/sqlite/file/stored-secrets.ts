/** Encrypted texts identify the key while there is no check value (D22). */
import { randomUUID } from "node:crypto";
import { ANY_KEY, CHECK_NAME, type StoredSecrets } from "../../../secrets/key-check.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./schema.ts";

/** Maximum number of jobs that are read: the newest, which the last key in use has encrypted. */
const JOBS = 100;

function valueOf(db: Database, name: string): string | undefined {
	return db.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.[0] as string | undefined;
}

function put(db: Database, name: string, value: string): void {
	db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(name, value);
}

const newIdentity = (): string => randomUUID().replaceAll("-", "");

export function identityOf(db: Database): string {
	const known = valueOf(db, "identity");
	if (known !== undefined) return known;
	const made = newIdentity();
	inTransaction(db, () => put(db, "identity", made));
	return made;
}

export function readSecrets(db: Database): StoredSecrets {
	const check = valueOf(db, CHECK_NAME);
	return { identity: identityOf(db), check, encrypted: check === undefined ? encryptedTexts(db) : [] };
}

function encryptedTexts(db: Database): string[] {
	const endpoints = db.prepare("SELECT secret FROM endpoints WHERE secret IS NOT NULL").all();
	const jobs = db.prepare("SELECT s3_config FROM jobs WHERE s3_config IS NOT NULL ORDER BY seq DESC LIMIT ?").all(JOBS);
	return [...endpoints, ...jobs].map(([text]) => String(text));
}

export function keepCheck(db: Database, check: string): void {
	inTransaction(db, () => put(db, CHECK_NAME, check));
}

/** Texts encrypted with another key than the next become unreadable. */
export function acceptNewKey(db: Database): void {
	keepCheck(db, ANY_KEY);
}

export function renewIdentity(db: Database, checkOf: (identity: string) => string): void {
	const identity = newIdentity();
	inTransaction(db, () => {
		put(db, "identity", identity);
		put(db, CHECK_NAME, checkOf(identity));
	});
}
