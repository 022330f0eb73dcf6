/** `sluice doctor` checks of a PostgreSQL store (D36). */
import { type Inspection, inspectPostgres, type Standbys } from "../../kernel/stores.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";

/** Findings contain no secrets. */
export async function postgresFindings(url: string): Promise<Finding[]> {
	try {
		return findingsOf(await inspectPostgres(url));
	} catch (error) {
		const fix = "Correct SLUICE_STORE, --store or the database; docs/scaling.md has the requirements.";
		return [problem("store", (error as Error).message, fix)];
	}
}

function findingsOf(found: Inspection): Finding[] {
	const { name, version, pending, settings, standbys } = found;
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
	];
}

function standbyFindings({ synchronousNames, connected, synchronous }: Standbys): Finding[] {
	if (synchronousNames !== "" && connected === 0)
		return [
			problem(
				"standby",
				`Every commit waits for a standby (synchronous_standby_names = ${synchronousNames}), and none is connected.`,
				"Connect one that synchronous_standby_names contains, or remove its name there.",
			),
		];
	if (synchronousNames !== "") {
		const others = synchronous !== null && synchronous < connected;
		return [
			ok(
				"standby",
				`Commits wait for standbys (synchronous_standby_names = ${synchronousNames}); connected: ` +
					`${connected}${synchronous === null ? "" : `, synchronous: ${synchronous}`}.` +
					(others ? " Do not promote any other standby: acknowledged jobs may be missing there." : ""),
			),
		];
	}
	if (connected === 0) return [];
	return [
		warning(
			"standby",
			`No standby is synchronous (${connected} connected): a failover may lose the last acknowledged jobs and results.`,
			"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf(); With " +
				"two standbys, one may fail; docs/scaling.md has more.",
		),
	];
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
