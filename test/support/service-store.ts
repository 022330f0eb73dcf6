/**
 * The store of services under test: a file in their folder, or with `SLUICE_TEST_STORE=postgres` a
 * database of PostgreSQL that lasts as long as the folder.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/kernel/system/clock.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { openStore } from "../../src/kernel/stores.ts";
import type { StoreDatabase } from "./postgres-stores.ts";
import { counted } from "./work.ts";

/** Whether services under test have PostgreSQL. */
export const ON_POSTGRES = process.env["SLUICE_TEST_STORE"] === "postgres";

/** Loaded only where it is needed: most runs are without. */
const stores = () => import("./postgres-stores.ts");

/** Databases by the folder of their service. */
const databases = new Map<string, Promise<StoreDatabase>>();

function databaseOf(folder: string): Promise<StoreDatabase> {
	let found = databases.get(folder);
	if (!found) databases.set(folder, (found = stores().then(({ storeDatabase }) => storeDatabase())));
	return found;
}

/** How a service in this folder gets its store: the same for each that is started there. */
export async function storeIn(folder: string): Promise<{ flags: Record<string, string>; env: Record<string, string> }> {
	if (!ON_POSTGRES) return { flags: { store: `sqlite:${join(folder, "sluice.db")}` }, env: {} };
	const { url } = await databaseOf(folder);
	return {
		flags: { "data-dir": folder },
		env: { SLUICE_STORE: url, SLUICE_SECRET: "the secret of all services under test" },
	};
}

/** The folder is removed, and with it the services that had the store. */
export function leaveStore(folder: string): void {
	const left = databases.get(folder);
	databases.delete(folder);
	left?.then(
		({ giveBack }) => giveBack(),
		() => {},
	);
}

/**
 * What is stored for one folder, as it is now, becomes what is stored for another one; files the
 * caller copies.
 */
export async function copyStore({ from, to }: { from: string; to: string }): Promise<void> {
	if (ON_POSTGRES)
		await (await stores()).copyRows({
			from: (await databaseOf(from)).url,
			to: (await databaseOf(to)).url,
		});
}

/**
 * All that services in this folder have written, wherever: each file but the one that they were given
 * their settings by, and what the database holds.
 */
export async function writtenIn(folder: string): Promise<Buffer[]> {
	const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
		(entry) => entry.isFile() && entry.name !== "sluice.yaml",
	);
	const contents = files.map((entry) => readFileSync(join(entry.parentPath, entry.name)));
	return ON_POSTGRES
		? [...contents, Buffer.from(await (await stores()).allRows((await databaseOf(folder)).url))]
		: contents;
}

/** Ends the sessions that services in this folder have with PostgreSQL. */
export async function endSessions(folder: string): Promise<void> {
	await (await stores()).endSessions((await databaseOf(folder)).url);
}

/**
 * Opens the store of a service on a clock of the test's. What passes between service and database
 * takes real time (a commit waits for the disk), while that clock may stand still or leap: a manual one
 * waits for what is in progress, and PostgreSQL goes by it too.
 */
export function openOn(clock: Clock): typeof openStore {
	return async (q) => {
		if (clock === systemClock) return await openStore(q);
		if (q.address.kind === "sqlite") return counted(await openStore(q));
		const store = counted(await openStore({ ...q, clock: systemClock }));
		const { cluster } = store;
		// Read at once: a test that leaps expects the next measurement before its next request.
		let seen = await store.time.read();
		return {
			...store,
			...(cluster && {
				cluster: {
					...cluster,
					clock: async () => ({ wall: clock.wall(), seen }),
				},
				time: {
					...store.time,
					async seen(q) {
						seen = q;
						await store.time.seen(q);
					},
				},
			}),
		} satisfies Store;
	};
}
