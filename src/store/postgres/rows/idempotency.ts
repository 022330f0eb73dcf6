/**
 * Idempotency keys per endpoint and operation (D14), in one transaction. Each key is locked before
 * it is read, so concurrent submissions under one key run in sequence.
 */
import type { Operation } from "../../../core/job.ts";
import type { KeyPlace, KeyUse } from "../../operations/unit-of-work.ts";
import { numbers, texts } from "../connection/arrays.ts";
import { type Runner, statement } from "../connection/statement.ts";

/** First number of the advisory locks on keys. */
const KEY_LOCKS = 0x534c_0002;

/** Fixed lock order: prevents deadlocks. */
const LOCK = statement(`
  SELECT count(pg_advisory_xact_lock(${KEY_LOCKS}, hash)) FROM (
    SELECT DISTINCT hashtext(endpoint || '/' || operation || '/' || key) AS hash
      FROM unnest($1::text[], $2::text[], $3::text[]) AS given (endpoint, operation, key) ORDER BY hash
  ) AS hashes`);
const FIND = statement(`
  SELECT used.endpoint, used.operation, used.key, body_hash, job, expires_at
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (endpoint, operation, key)
  JOIN idempotency AS used ON used.endpoint = given.endpoint AND used.operation = given.operation
    AND used.key = given.key`);
const PUT = statement(`
  INSERT INTO idempotency (endpoint, operation, key, body_hash, job, expires_at)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[])
  ON CONFLICT (endpoint, operation, key)
    DO UPDATE SET body_hash = excluded.body_hash, job = excluded.job,
    expires_at = excluded.expires_at`);

const nameOf = ({ endpoint, operation, key }: KeyPlace): string => JSON.stringify([endpoint, operation, key]);

export function openIdempotencyKeys({ run }: { run: Runner["run"] }) {
	const used = new Map<string, (KeyUse & { expiresAt: number }) | undefined>();
	const fresh = new Map<string, KeyPlace & KeyUse & { expiresAt: number }>();
	const columns = (places: readonly KeyPlace[]): Buffer[] => [
		texts(places.map(({ endpoint }) => endpoint)),
		texts(places.map(({ operation }) => operation)),
		texts(places.map(({ key }) => key)),
	];

	return {
		async load(places: readonly KeyPlace[]): Promise<void> {
			const asked = places.filter((place) => !used.has(nameOf(place)));
			if (asked.length === 0) return;
			for (const place of asked) used.set(nameOf(place), undefined);
			const [, { rows }] = await Promise.all([run(LOCK, columns(asked)), run(FIND, columns(asked))]);
			for (const [endpoint, operation, key, bodyHash, job, expiresAt] of rows as [
				string,
				Operation,
				string,
				string,
				string,
				number,
			][])
				used.set(nameOf({ endpoint, operation, key }), { bodyHash, job, expiresAt });
		},

		/** What a loaded, unexpired key was used for. */
		find(place: KeyPlace, now: number): KeyUse | undefined {
			const found = used.get(nameOf(place));
			return found && found.expiresAt > now ? found : undefined;
		},

		put(place: KeyPlace, use: KeyUse, expiresAt: number): void {
			used.set(nameOf(place), { ...use, expiresAt });
			fresh.set(nameOf(place), { ...place, ...use, expiresAt });
		},

		/** Writes the changes. */
		flush(): Promise<unknown>[] {
			if (fresh.size === 0) return [];
			const all = [...fresh.values()];
			fresh.clear();
			return [
				run(PUT, [
					...columns(all),
					texts(all.map(({ bodyHash }) => bodyHash)),
					texts(all.map(({ job }) => job)),
					numbers(all.map(({ expiresAt }) => expiresAt)),
				]),
			];
		},
	};
}
