import { randomUUID } from "node:crypto";
import { CHECK_NAME, type CheckKey } from "../../secrets/key-check.ts";
import type { Store } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

/** More than a page, since values of `meta` are not compressed. */
const TRIAL_BYTES = 16_384;

const KEEP = statement("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
const KEPT = statement("SELECT value FROM meta WHERE name = $1");
const FILL = statement("INSERT INTO meta (name, value) VALUES ($1, $2)");
const EMPTY = statement("DELETE FROM meta WHERE name = $1");

type Meta = Pick<Store, "identity" | "ping">;

/** Creates the identity of a new store, and stores the check value of its first key (D22). */
export async function openMeta({
	database,
	checkKey,
}: {
	database: Database;
	checkKey: CheckKey | undefined;
}): Promise<Meta> {
	function keep(name: string, value: string): Promise<string> {
		return database.write(async ({ run }) => {
			await run(KEEP, [name, value]);
			return String((await run(KEPT, [name])).rows[0]?.[0]);
		});
	}

	const identity = await keep("identity", randomUUID().replaceAll("-", ""));
	if (checkKey) {
		const stored = (await database.read.run(KEPT, [CHECK_NAME])).rows[0]?.[0];
		const check = stored === undefined ? undefined : String(stored);
		const own = checkKey({ identity, check });
		// Another server that starts at the same time may have stored that of another key.
		if (check === undefined) checkKey({ identity, check: await keep(CHECK_NAME, own) });
	}

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
