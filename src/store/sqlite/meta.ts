/** The store's identity, and the trial write of `ping`. */
import { randomUUID } from "node:crypto";
import type { Answer } from "../operations/operation.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

/** Bytes of a trial write: more than a page may have free. */
const TRIAL_BYTES = 16_384;

export function openMeta(parts: UnitOfWork): {
	identity: () => Answer<"identity">;
	ping: () => Answer<"ping">;
} {
	const { db } = parts;
	const select = db.prepare("SELECT value FROM meta WHERE name = ?");
	const put = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
	const fill = db.prepare(
		`INSERT OR REPLACE INTO meta (name, value) VALUES ('trial', hex(zeroblob(${TRIAL_BYTES / 2})))`,
	);
	const empty = db.prepare("DELETE FROM meta WHERE name = 'trial'");

	let identity = select.get("identity")?.[0] as string | undefined;
	if (identity === undefined) {
		const made = randomUUID().replaceAll("-", "");
		parts.transaction(() => put.run("identity", made));
		identity = made;
	}
	const known = identity;

	return {
		identity: () => known,
		ping() {
			fill.run();
			empty.run();
		},
	};
}
