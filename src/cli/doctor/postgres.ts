/** `sluice doctor` checks of a PostgreSQL store (D36). */
import type { Clock } from "../../kernel/system/clock.ts";
import { type Inspection, inspectPostgres, type Standbys } from "../../kernel/stores.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";

/** Servers with a larger difference are not ready, ms. */
const MAX_CLOCK_DIFFERENCE_MS = 1000;
/** Every submission waits for a commit, ms. */
const SLOW_COMMIT_MS = 20;

/** Findings contain no secrets. */
export async function postgresFindings(q: { url: string; clock: Clock }): Promise<Finding[]> {
	try {
		return findingsOf(await inspectPostgres(q));
	} catch (error) {
		const fix = "Correct SLUICE_STORE, --store or the database; docs/scaling.md has the requirements.";
		return [problem("store", (error as Error).message, fix)];
	}
}

function findingsOf(found: Inspection): Finding[] {
	const { name, version, pending, ahead, settings, standbys, commitMs } = found;
	return [
		ok("store", `PostgreSQL ${version} at ${name} answers.`),
		pending.length === 0
			? ok("schema", "The schema is up to date.")
			: warning(
					"schema",
					`Missing migrations: ${pending.join(", ")}.`,
					"The next 'sluice serve' applies them; 'sluice migrate' does it now.",
				),
		durabilityFinding(settings),
		...standbyFindings(standbys),
		commitFinding(commitMs, standbys),
		clockFinding(ahead),
	];
}

function standbyFindings({ synchronousNames, connected, synchronous }: Standbys): Finding[] {
	if (synchronousNames !== "") {
		const others = synchronous !== null && synchronous < connected;
		return [
			ok(
				"standby",
				`Commits wait for standbys (synchronous_standby_names = ${synchronousNames}); connected: ` +
					`${connected}${synchronous === null ? "" : `, synchronous: ${synchronous}`}.` +
					(others ? " Promote no other one: acknowledged jobs may be missing there." : ""),
			),
		];
	}
	if (connected === 0) return [];
	return [
		warning(
			"standby",
			`${connected === 1 ? "A standby is" : `${connected} standbys are`} connected, and commits ` +
				"wait for none: after a failover the jobs and results acknowledged last may be missing.",
			"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf(); With " +
				"two standbys, one may fail; docs/scaling.md has more.",
		),
	];
}

function commitFinding(commitMs: number | undefined, { synchronousNames }: Standbys): Finding {
	if (commitMs === undefined)
		return problem(
			"commit",
			"A commit was not confirmed for seconds, and every submission waits for one.",
			synchronousNames === ""
				? "Check the disk of the database."
				: "Connect a standby that synchronous_standby_names contains, or remove its name there: " +
						`it is ${synchronousNames}.`,
		);
	return commitMs < SLOW_COMMIT_MS
		? ok("commit", `A commit takes ${commitMs.toFixed(1)} ms.`)
		: warning(
				"commit",
				`A commit takes ${commitMs.toFixed(0)} ms, and every submission waits for one.`,
				"Move the servers closer to the database, or the database to faster disks.",
			);
}

function durabilityFinding(settings: Inspection["settings"]): Finding {
	const { fsync, fullPageWrites, synchronousCommit } = settings;
	if (fsync !== "on" || fullPageWrites !== "on")
		return problem(
			"durability",
			`PostgreSQL runs with fsync = ${fsync} and full_page_writes = ${fullPageWrites}: a crash ` +
				"of its machine can lose acknowledged jobs.",
			"Set both to on.",
		);
	const note =
		synchronousCommit === "on" ? "" : ` (Sluice overrides the server's synchronous_commit = ${synchronousCommit})`;
	return ok("durability", `Commits are flushed to disk${note}.`);
}

function clockFinding({ ms, exactMs }: Inspection["ahead"]): Finding {
	const apart = Math.abs(ms);
	return apart <= MAX_CLOCK_DIFFERENCE_MS + exactMs
		? ok("clock", `The clocks of this machine and PostgreSQL differ by ${apart} ms.`)
		: warning(
				"clock",
				`The clocks of this machine and PostgreSQL differ by ${(apart / 1000).toFixed(1)} s.`,
				"Synchronise both with NTP.",
			);
}
