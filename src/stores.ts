/** Opens or migrates the configured store. Loads only its dialect, to save memory. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "./clock.ts";
import type { StoreAddress } from "./config/config.ts";
import { rotateKeyFile } from "./key-file.ts";
import type { Inspection } from "./store/postgres/inspect.ts";
import type { CheckKey } from "./store/key-check.ts";
import type { Store } from "./store/contract/store.ts";

export type { Inspection };

/** Of the key for stored secrets. */
const KEY_BYTES = 32;

/**
 * Opens the store and migrates its schema. `checkKey` checks the keys for secrets (D22). Throws
 * an Error for the operator.
 */
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
		return await (await import("./store/sqlite/open.ts")).openSqlite({
			path: address.path,
			checkKey,
		});
	return await (await import("./store/postgres/open.ts")).openPostgres({
		url: address.url,
		clock,
		checkKey,
	});
}

/** Free bytes on the disk of a store on this machine. */
export function freeBytesOf(address: StoreAddress): (() => Promise<number>) | undefined {
	if (address.kind !== "sqlite") return undefined;
	const folder = dirname(address.path);
	return async () => {
		const { bavail, bsize } = await statfs(folder);
		return bavail * bsize;
	};
}

/** For `sluice doctor`. */
export async function inspectPostgres(q: { url: string; now: () => number }): Promise<Inspection> {
	return await (await import("./store/postgres/inspect.ts")).inspect(q);
}

/**
 * Applies missing migrations, or with `check` only returns them. `name`: the store without secrets.
 * `newSecret`: accept another key for secrets at the next start; encrypted data becomes unreadable
 * (D22). `rotateSecret`: a new key in the key file, in addition to the one in use.
 * `acceptMissingLog`: go on without the log that the file needs (D17). `compact`: rewrite the file
 * without free pages. Throws an Error for the operator.
 */
export async function migrateStore({
	address,
	check,
	...accept
}: {
	address: StoreAddress;
	check: boolean;
	newSecret?: boolean;
	rotateSecret?: boolean;
	acceptMissingLog?: boolean;
	compact?: boolean;
}): Promise<{ name: string; migrations: string[] }> {
	return address.kind === "sqlite"
		? await migrateFile(address.path, { check, ...accept })
		: await migrateDatabase(address.url, check);
}

async function migrateDatabase(
	url: string,
	check: boolean,
): Promise<{ name: string; migrations: string[] }> {
	const [{ pendingMigrations, prepareSchema }, { addressOf }] = await Promise.all([
		import("./store/postgres/schema.ts"),
		import("./store/postgres/connection/database.ts"),
	]);
	const migrations = await (check ? pendingMigrations : prepareSchema)({ url });
	return { name: addressOf(url).name, migrations: migrations.map(({ name }) => name) };
}

async function migrateFile(
	path: string,
	{
		check,
		newSecret = false,
		rotateSecret = false,
		acceptMissingLog = false,
		compact = false,
	}: {
		check: boolean;
		newSecret?: boolean;
		rotateSecret?: boolean;
		acceptMissingLog?: boolean;
		compact?: boolean;
	},
): Promise<{ name: string; migrations: string[] }> {
	const [{ allMigrations, pendingMigrations, prepareSchema }, { openDatabase }, { acceptNewKey }] =
		await Promise.all([
			import("./store/sqlite/schema.ts"),
			import("./store/sqlite/database.ts"),
			import("./store/sqlite/stored-secrets.ts"),
		]);
	// Opening would create the file.
	if (check && !existsSync(path))
		return { name: path, migrations: allMigrations().map(({ name }) => name) };
	const db = openDatabase({ path, acceptMissingLog });
	try {
		const migrations = await (check ? pendingMigrations : prepareSchema)(db);
		if (newSecret) acceptNewKey(db);
		// Open, so locked: no service uses the key.
		if (rotateSecret) rotateKeyFile(path, randomBytes(KEY_BYTES).toString("hex"));
		if (compact) (await import("./store/sqlite/vacuum.ts")).compact(db);
		return { name: path, migrations: migrations.map(({ name }) => name) };
	} finally {
		db.close();
	}
}
