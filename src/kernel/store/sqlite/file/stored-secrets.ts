/** Which keys the stored secrets are encrypted with (D22). */
import { randomUUID } from "node:crypto";
import { ANY_KEY, CHECK_NAME, type StoredSecrets } from "../../../secrets/key-check.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./schema.ts";

function valueOf(db: Database, name: string): string | undefined {
	return db.prepare("SELECT value FROM meta WHERE name = ?").get(name)?.[0] as string | undefined;
}

function put(db: Database, name: string, value: string): void {
	db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(name, value);
}

export const newIdentity = (): string => randomUUID().replaceAll("-", "");

export function identityOf(db: Database): string {
	const known = valueOf(db, "identity");
	if (known !== undefined) return known;
	const made = newIdentity();
	inTransaction(db, () => put(db, "identity", made));
	return made;
}

export function readSecrets(db: Database): StoredSecrets {
	return { identity: identityOf(db), check: valueOf(db, CHECK_NAME) };
}

export function keepCheck(db: Database, check: string): void {
	inTransaction(db, () => put(db, CHECK_NAME, check));
}

/** Accepts another key at the next start. Texts that are encrypted with an earlier key become unreadable. */
export function acceptNewKey(db: Database): void {
	keepCheck(db, ANY_KEY);
}

/** Stores the identity, within a transaction. `check`: check value of the keys under this identity. */
export function putIdentity(db: Database, { identity, check }: { identity: string; check: string }): void {
	put(db, "identity", identity);
	put(db, CHECK_NAME, check);
}
