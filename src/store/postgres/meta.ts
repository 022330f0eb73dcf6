/**
 * What the store knows of itself: its identity, the key of its secrets, and whether it can be
 * written.
 */
import { randomUUID } from "node:crypto";
import { CHECK_NAME, keyCheck } from "../key-check.ts";
import type { Store } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

/**
 * Bytes that a trial write needs: they get pages of their own, for values of `meta` are not
 * compressed.
 */
const TRIAL_BYTES = 16_384;

const KEEP = statement(
	"INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
);
const KEPT = statement("SELECT value FROM meta WHERE name = $1");
const FILL = statement("INSERT INTO meta (name, value) VALUES ($1, $2)");
const EMPTY = statement("DELETE FROM meta WHERE name = $1");

/** The operations of the contract that belong to no noun. */
export type Meta = Pick<Store, "identity" | "ping">;

/**
 * Makes the identity where there is none. Throws an Error with a sentence for the operator when the
 * secrets of the store were closed under another key than `sealKey`: nobody could read them (D22).
 */
export async function openMeta({
	database,
	sealKey,
}: {
	database: Database;
	sealKey: Uint8Array;
}): Promise<Meta> {
	/** The value under this name: the first that anybody gave. */
	function keep(name: string, value: string): Promise<string> {
		return database.write(async ({ run }) => {
			await run(KEEP, [name, value]);
			return String((await run(KEPT, [name])).rows[0]?.[0]);
		});
	}

	const identity = await keep("identity", randomUUID().replaceAll("-", ""));
	const check = keyCheck(sealKey, identity);
	if ((await keep(CHECK_NAME, check)) !== check)
		throw new Error(
			`SLUICE_SECRET is not the one that the store at ${database.name} was made with: its secrets could not be read. Give all servers of a store the same.`,
		);

	return {
		identity: async () => identity,
		async ping() {
			// A row of its own each time: servers that look at once do not wait for each other.
			const name = `trial ${randomUUID()}`;
			await database.write(async ({ run }) => {
				await run(FILL, [name, "0".repeat(TRIAL_BYTES)]);
				await run(EMPTY, [name]);
			});
		},
	};
}
