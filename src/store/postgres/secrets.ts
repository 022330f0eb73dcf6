/** Replaces encrypted texts. The old ones stay in dead rows until PostgreSQL vacuums the table. */
import type { SecretStore } from "../contract/secrets.ts";
import type { Signal } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

const REPLACE_ENDPOINT = statement(`
  UPDATE endpoints SET settings = $2, secret = $3
  WHERE id = $1 AND settings = $4 AND secret IS NOT DISTINCT FROM $5`);

/** `notifyOthers` is called after the commit. */
export function openSecrets({
	database: { write },
	notifyOthers,
}: {
	database: Database;
	notifyOthers: (signal: Signal) => void;
}): SecretStore {
	return {
		async replaceEndpoint({ id, from, to }) {
			const values = [id, to.settings, to.secret ?? null, from.settings, from.secret ?? null];
			const { count } = await write((run) => run.run(REPLACE_ENDPOINT, values));
			if (count > 0) notifyOthers({ kind: "endpoints" });
			return count > 0;
		},
	};
}
