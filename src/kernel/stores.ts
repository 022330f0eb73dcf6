/** Opens or migrates the configured store. Loads only its dialect, to save memory. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "./system/clock.ts";
import type { StoreAddress } from "./config/config.ts";
import type { SealKeys } from "./secrets/encryption.ts";
import type { Reencrypted } from "./engine/lifecycle/reencrypt.ts";
import { readKeyFile, removePreviousKey, rotateKeyFile } from "./secrets/key-file.ts";
import { fromText, opensSecrets, secretKeys } from "./secrets/secret-key.ts";
import type { Inspection } from "./store/postgres/inspect.ts";
import type { Standbys } from "./store/postgres/queries/cluster.ts";
import { type CheckKey, joinChecks, keyCheck } from "./secrets/key-check.ts";
import type { Verification } from "./store/sqlite/file/verify.ts";
import type { Store } from "./store/contract/store.ts";

export type { Inspection, Reencrypted, Standbys };

const KEY_BYTES = 32;

/** `checkKey` checks the keys for secrets (D22). Throws an Error for the operator. */
export async function openStore({
	address,
	clock,
	checkKey,
}: {
	address: StoreAddress;
	clock: Clock;
	checkKey?: CheckKey;
}): Promise<Store> {
	if (address.kind === "sqlite")
		return await (await import("./store/sqlite/open.ts")).openSqlite({ path: address.path, checkKey });
	return await (await import("./store/postgres/open.ts")).openPostgres({ url: address.url, clock, checkKey });
}

/** Largest ballast, bytes: the log of a store has 16 MB, and a merge of it needs as much again. */
const MOST_BALLAST = 32 * 2 ** 20;

/** The disk of a store on this machine. A part of the reserve is a ballast, which is free too. */
export async function diskOf(address: StoreAddress, reserveBytes: number) {
	if (address.kind !== "sqlite") return undefined;
	const folder = dirname(address.path);
	const { openBallast } = await import("./store/sqlite/file/ballast.ts");
	const ballast = openBallast(address.path, Math.min(MOST_BALLAST, Math.floor(reserveBytes / 8)));
	return {
		ballast,
		async fileBytes() {
			const [database, wal] = await Promise.all(
				[address.path, `${address.path}-wal`].map(async (path) => (await stat(path)).size),
			);
			return { database: database!, wal: wal! };
		},
		async freeBytes(): Promise<number> {
			const [{ bavail, bsize }, held] = await Promise.all([statfs(folder), ballast.held()]);
			return bavail * bsize + held;
		},
	};
}

export async function inspectPostgres(url: string): Promise<Inspection> {
	return await (await import("./store/postgres/inspect.ts")).inspect(url);
}

interface MigrationOptions {
	/** Only return the missing migrations. */
	check: boolean;
	/** Accept another key for secrets at the next start: encrypted data becomes unreadable (D22). */
	newSecret?: boolean;
	rotateSecret?: boolean;
	/** Go on without the log that the file needs (D17). */
	acceptMissingLog?: boolean;
}

interface Migrated {
	/** The store, without secrets. */
	name: string;
	migrations: string[];
}

/** Throws an Error for the operator. */
export async function migrateStore({
	address,
	...options
}: MigrationOptions & { address: StoreAddress }): Promise<Migrated> {
	return address.kind === "sqlite"
		? await migrateFile(address.path, options)
		: await migrateDatabase(address.url, options.check);
}

async function migrateDatabase(url: string, check: boolean): Promise<Migrated> {
	const [{ pendingMigrations, prepareSchema }, { addressOf }] = await Promise.all([
		import("./store/postgres/schema.ts"),
		import("./store/postgres/connection/database.ts"),
	]);
	const migrations = await (check ? pendingMigrations : prepareSchema)({ url });
	return { name: addressOf(url).name, migrations: migrations.map(({ name }) => name) };
}

async function migrateFile(
	path: string,
	{ check, newSecret, rotateSecret, acceptMissingLog = false }: MigrationOptions,
): Promise<Migrated> {
	const [{ allMigrations, pendingMigrations, prepareSchema }, { openDatabase }, { acceptNewKey }] = await Promise.all([
		import("./store/sqlite/file/schema.ts"),
		import("./store/sqlite/file/database.ts"),
		import("./store/sqlite/file/stored-secrets.ts"),
	]);
	// Opening would create the file.
	if (check && !existsSync(path)) return { name: path, migrations: allMigrations().map(({ name }) => name) };
	const db = openDatabase({ path, acceptMissingLog });
	try {
		const migrations = await (check ? pendingMigrations : prepareSchema)(db);
		if (newSecret) acceptNewKey(db);
		// Open, so locked: no service uses the key.
		if (rotateSecret) rotateKeyFile(path, randomBytes(KEY_BYTES).toString("hex"));
		return { name: path, migrations: migrations.map(({ name }) => name) };
	} finally {
		db.close();
	}
}

/**
 * Encrypts stored secrets with the current key; `check` only counts those of an earlier one. Throws an Error for the
 * operator.
 */
export async function reencryptStore({
	address,
	check,
	...key
}: { address: StoreAddress; check: boolean } & Omit<KeyPlace, "file">): Promise<Reencrypted> {
	const { reencrypt } = await import("./engine/lifecycle/reencrypt.ts");
	const database = address.kind === "sqlite" ? address.path : undefined;
	const found = Promise.withResolvers<SealKeys>();
	const checkKey: CheckKey = (stored) => {
		const sealKeys = secretKeys({ secret: undefined, ...key, database, random: randomBytes }, stored);
		found.resolve(sealKeys);
		return sealKeys.checks.opened;
	};
	const store = await openStore({ address, clock: systemClock, checkKey });
	try {
		const counted = await reencrypt(store, { sealKeys: await found.promise, random: randomBytes, check });
		if (!check && key.secret === undefined && database !== undefined) removePreviousKey(database);
		return counted;
	} finally {
		await store.close();
	}
}

/** `SLUICE_SECRET` and the one before, else a key file. */
export interface KeyPlace {
	secret?: string | undefined;
	previousSecret?: string | undefined;
	file: string;
}

/** `unused`: the store has no secrets. */
type KeyFit = "fits" | "wrong" | "missing" | "unused";

export interface StoreReport extends Omit<Verification, "secrets"> {
	key: KeyFit;
}

/**
 * Checks a SQLite file that no service has open. `migrate`: as `verify`. Throws an Error for the operator if the file
 * is no store, too new, or in use.
 */
export async function verifyStore(
	path: string,
	{ migrate, key }: { migrate: boolean; key: KeyPlace },
): Promise<StoreReport> {
	const { verify } = await import("./store/sqlite/file/verify.ts");
	const { secrets, ...report } = await verify(path, { migrate });
	const keys = keysIn(path, key);
	const fits = secrets && opensSecrets(keys ?? [], secrets);
	return {
		...report,
		key: fits === undefined ? "unused" : keys === undefined ? "missing" : fits ? "fits" : "wrong",
	};
}

/**
 * Gives a copy of a store its own identity: its service leaves alone the workers of the original, whose jobs wait again
 * here. Throws an Error for the operator.
 */
export async function renewIdentity(path: string, key: KeyPlace): Promise<void> {
	const keys = keysIn(path, key);
	if (keys === undefined)
		throw new Error(`A new identity needs the key: there is no ${key.file}, and SLUICE_SECRET is not set.`);
	const [{ openDatabase }, copy] = await Promise.all([
		import("./store/sqlite/file/database.ts"),
		import("./store/sqlite/file/new-identity.ts"),
	]);
	const db = openDatabase({ path });
	const checkOf = (identity: string): string => joinChecks(keys.map((each) => keyCheck(each, identity)));
	try {
		copy.renewIdentity(db, { checkOf, now: systemClock.wall() });
	} finally {
		db.close();
	}
}

function keysIn(path: string, { secret, previousSecret, file }: KeyPlace): readonly Uint8Array[] | undefined {
	if (secret === undefined) return readKeyFile(path, file);
	return [secret, previousSecret].flatMap((text) => (text === undefined ? [] : [fromText(text)]));
}
