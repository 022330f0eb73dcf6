/** The store's identity, the check of its encryption key, and the trial write of `ping`. */
import { randomUUID } from "node:crypto";
import { CHECK_NAME, keyCheck } from "../key-check.ts";
import type { Store } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

/** Bytes of a trial write: more than a page, since values of `meta` are not compressed. */
const TRIAL_BYTES = 16_384;

const KEEP = statement(
	"INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
);
const KEPT = statement("SELECT value FROM meta WHERE name = $1");
const FILL = statement("INSERT INTO meta (name, value) VALUES ($1, $2)");
const EMPTY = statement("DELETE FROM meta WHERE name = $1");

export type Meta = Pick<Store, "identity" | "ping">;

/**
 * Creates the identity of a new store. Throws an Error for the operator when the store's secrets
 * are encrypted with a key other than `sealKey` (D22).
 */
export async function openMeta({
	database,
	sealKey,
}: {
	database: Database;
	sealKey: Uint8Array;
}): Promise<Meta> {
	/** Stores the value unless one exists; returns the stored one. */
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
			`SLUICE_SECRET is not the one that the store at ${database.name} was created with: ` +
				"its secrets could not be read. All servers of a store need the same value.",
		);

	return {
		identity: async () => identity,
		async ping() {
			// A new row each time: concurrent pings do not wait for each other.
			const name = `trial ${randomUUID()}`;
			await database.write(async ({ run }) => {
				await run(FILL, [name, "0".repeat(TRIAL_BYTES)]);
				await run(EMPTY, [name]);
			});
		},
	};
}
