/**
 * What `sluice doctor` says of a PostgreSQL store: reachable, of a known version, migrated, safe,
 * quick, and on time (D36).
 */
import { inspectPostgres } from "../../stores.ts";
import type { Inspection } from "../../stores.ts";
import { ok, problem, warning } from "../../core/finding.ts";
import type { Finding } from "../../core/finding.ts";

/** How far its clock may be off before servers would not be ready, ms. */
const APART_MS = 1000;
/** From so long on a commit is slow, ms: each submission waits for one. */
const SLOW_COMMIT_MS = 20;

/** Looks at the database of `url`, of which nothing secret is told. */
export async function postgresFindings(q: { url: string; now: () => number }): Promise<Finding[]> {
	try {
		return findingsOf(await inspectPostgres(q));
	} catch (error) {
		return [
			problem(
				"store",
				(error as Error).message,
				"Correct SLUICE_STORE or --store, or the database; docs/scaling.md says what it needs.",
			),
		];
	}
}

function findingsOf({ name, version, pending, ahead, settings, commitMs }: Inspection): Finding[] {
	return [
		ok("store", `PostgreSQL ${version} at ${name} answers.`),
		pending.length === 0
			? ok("schema", "The schema is up to date.")
			: warning(
					"schema",
					`The schema lacks ${pending.join(", ")}.`,
					"The next 'sluice serve' applies them by itself; 'sluice migrate' does it now.",
				),
		settings.fsync === "on" && settings.fullPageWrites === "on"
			? ok(
					"durability",
					`What is committed is flushed${settings.synchronousCommit === "on" ? "" : ` (Sluice does not use the server's synchronous_commit = ${settings.synchronousCommit})`}.`,
				)
			: problem(
					"durability",
					`PostgreSQL runs with fsync = ${settings.fsync} and full_page_writes = ${settings.fullPageWrites}: a crash of its machine loses jobs that were acknowledged.`,
					"Set both to on.",
				),
		commitMs < SLOW_COMMIT_MS
			? ok("commit", `A commit takes ${commitMs.toFixed(1)} ms.`)
			: warning(
					"commit",
					`A commit takes ${commitMs.toFixed(0)} ms, and each submission waits for one.`,
					"Move the servers nearer to the database, or the database to faster disks.",
				),
		Math.abs(ahead.ms) <= APART_MS + ahead.exactMs
			? ok(
					"clock",
					`The clocks of this machine and of PostgreSQL are ${Math.abs(ahead.ms)} ms apart.`,
				)
			: warning(
					"clock",
					`The clocks of this machine and of PostgreSQL are ${(Math.abs(ahead.ms) / 1000).toFixed(1)} s apart.`,
					"Let both be set by NTP.",
				),
	];
}
