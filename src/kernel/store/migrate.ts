/** The migration runner of both dialects. Refuses a database of a newer version or of another application. */
import { readdirSync, readFileSync } from "node:fs";

export interface Migration {
	number: number;
	name: string;
	sql: string;
}

export interface MigrationTarget {
	/** Name of the store in error messages: a path, or an address without secrets. */
	readonly name: string;
	owner(): Promise<"empty" | "sluice" | "other">;
	prepare(): Promise<void>;
	applied(): Promise<readonly Pick<Migration, "number" | "name">[]>;
	/** Applies a migration in one transaction. False if another server has already recorded its number. */
	apply(migration: Migration): Promise<boolean>;
}

/** Reads the migrations of a folder. Throws if their numbers are not 1, 2, 3, … */
export function readMigrations(folder: URL): Migration[] {
	const names = readdirSync(folder)
		.filter((name) => name.endsWith(".sql"))
		.toSorted();
	return names.map((name, index) => {
		const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
		if (number !== index + 1)
			throw new Error(`The migration file ${name} must begin with ${String(index + 1).padStart(4, "0")}_.`);
		return { number, name, sql: readFileSync(new URL(name, folder), "utf8") };
	});
}

/** Returns the missing migrations and changes nothing. Throws an Error for the operator. */
export async function pending(target: MigrationTarget, migrations: readonly Migration[]): Promise<Migration[]> {
	return (await ownerOf(target)) === "empty" ? [...migrations] : await lacking(target, migrations);
}

/** Returns the applied migrations. Throws an Error for the operator. */
export async function migrate(target: MigrationTarget, migrations: readonly Migration[]): Promise<Migration[]> {
	await ownerOf(target);
	await target.prepare();
	const done: Migration[] = [];
	for (const migration of await lacking(target, migrations)) {
		if (await target.apply(migration)) done.push(migration);
	}
	return done;
}

async function ownerOf(target: MigrationTarget): Promise<"empty" | "sluice"> {
	const owner = await target.owner();
	if (owner === "other")
		throw new Error(
			`${target.name} contains something that is not a Sluice store. ` +
				"Choose another place for the store; nothing was changed here.",
		);
	return owner;
}

async function lacking(target: MigrationTarget, migrations: readonly Migration[]): Promise<Migration[]> {
	const recorded = await target.applied();
	if (recorded.some(({ number, name }) => migrations.some((each) => each.number === number && each.name !== name)))
		throw new Error(
			`${target.name} was made by an unpublished version of Sluice, which this version cannot open. ` +
				"Choose another place for the store; nothing was changed here.",
		);
	const applied = new Set(recorded.map(({ number }) => number));
	const newest = Math.max(0, ...applied);
	if (newest > migrations.length) {
		throw new Error(
			`${target.name} was made by a newer version of Sluice: it is at migration ${newest}, and this version knows ` +
				`${migrations.length}. Run the newer version, or restore a backup from before the upgrade.`,
		);
	}
	return migrations.filter(({ number }) => !applied.has(number));
}
