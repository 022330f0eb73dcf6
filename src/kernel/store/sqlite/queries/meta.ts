import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { identityOf } from "../file/stored-secrets.ts";

/** Bytes of the trial write: more than a page may have free. */
const TRIAL_BYTES = 16_384;

export function openMeta({ db }: UnitOfWork) {
	const fill = db.prepare(
		`INSERT OR REPLACE INTO meta (name, value) VALUES ('trial', hex(zeroblob(${TRIAL_BYTES / 2})))`,
	);
	const empty = db.prepare("DELETE FROM meta WHERE name = 'trial'");
	const identity = identityOf(db);

	return {
		identity: () => identity,
		ping(): void {
			fill.run();
			empty.run();
		},
	};
}
