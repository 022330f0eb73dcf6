/**
 * Idempotency keys (D14) in one transaction. Each is locked before it is read: concurrent submissions under one key run
 * in sequence.
 */
import type { Operation } from "../../../core/jobs/job.ts";
import type { KeyPlace, KeyUse } from "../../operations/unit-of-work.ts";
import { rowsOf } from "../connection/arrays.ts";
import { type Runner, statement } from "../connection/statement.ts";

const KEY_LOCKS = 0x534c_0002;

const PLACES = rowsOf<KeyPlace>({ endpoint: "text", operation: "text", key: "text" });
const USES = rowsOf<KeyPlace & KeyUse & { expiresAt: number }>({
	endpoint: "text",
	operation: "text",
	key: "text",
	body_hash: ["text", ({ bodyHash }) => bodyHash],
	job: "text",
	expires_at: ["int8", ({ expiresAt }) => expiresAt],
});

/** Fixed lock order: prevents deadlocks. */
const LOCK = statement(`
  SELECT count(pg_advisory_xact_lock(${KEY_LOCKS}, hash)) FROM (
    SELECT DISTINCT hashtext(endpoint || '/' || operation || '/' || key) AS hash
      FROM (${PLACES.select}) AS given ORDER BY hash
  ) AS hashes`);
const FIND = statement(`
  SELECT used.endpoint, used.operation, used.key, body_hash, job, expires_at FROM (${PLACES.select}) AS given
  JOIN idempotency AS used ON used.endpoint = given.endpoint AND used.operation = given.operation
    AND used.key = given.key`);
const PUT = statement(`
  INSERT INTO idempotency (${USES.names}) ${USES.select}
  ON CONFLICT (endpoint, operation, key)
    DO UPDATE SET body_hash = excluded.body_hash, job = excluded.job,
    expires_at = excluded.expires_at`);

const nameOf = ({ endpoint, operation, key }: KeyPlace): string => JSON.stringify([endpoint, operation, key]);

export function openIdempotencyKeys(run: Runner["run"]) {
	const used = new Map<string, (KeyUse & { expiresAt: number }) | undefined>();
	const fresh = new Map<string, KeyPlace & KeyUse & { expiresAt: number }>();

	return {
		async load(places: readonly KeyPlace[]): Promise<void> {
			const asked = places.filter((place) => !used.has(nameOf(place)));
			if (asked.length === 0) return;
			for (const place of asked) used.set(nameOf(place), undefined);
			const [, found] = await Promise.all([LOCK, FIND].map((each) => run(each, PLACES.values(asked))));
			for (const [endpoint, operation, key, bodyHash, job, expiresAt] of found!.rows as [
				string,
				Operation,
				string,
				string,
				string,
				number,
			][])
				used.set(nameOf({ endpoint, operation, key }), { bodyHash, job, expiresAt });
		},

		find(place: KeyPlace, now: number): KeyUse | undefined {
			const found = used.get(nameOf(place));
			return found && found.expiresAt > now ? found : undefined;
		},

		put(place: KeyPlace, use: KeyUse, expiresAt: number): void {
			used.set(nameOf(place), { ...use, expiresAt });
			fresh.set(nameOf(place), { ...place, ...use, expiresAt });
		},

		flush(): Promise<unknown>[] {
			const uses = [...fresh.values()];
			fresh.clear();
			return uses.length > 0 ? [run(PUT, USES.values(uses))] : [];
		},
	};
}
