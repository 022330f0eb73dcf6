/** `sluice migrate`: applies or lists a store's missing migrations. */
import { OPTIONS } from "../../kernel/config/options.ts";
import { migrateStore, reencryptStore } from "../../kernel/stores.ts";
import type { Action } from "../framework/command.ts";
import { JSON_FLAG } from "../framework/common-flags.ts";
import { CliError } from "../client/errors.ts";
import { fail, keyPlace, storeAddress } from "../client/store-flags.ts";

export const migrate: Action = {
	name: "migrate",
	summary: "migrate the schema of a store; sluice serve does this automatically",
	args: [],
	local: true,
	flags: {
		store: {
			value: "STORE",
			summary: `store to migrate, as for sluice serve (default ${OPTIONS.store.schema.default}; SLUICE_STORE)`,
		},
		check: { summary: "change nothing; exit with 1 when migrations are missing" },
		"new-secret": {
			summary:
				"SQLite: accept another key for secrets at the next start; stored s3Config and webhook " +
				"secrets become unreadable",
		},
		"accept-missing-log": {
			summary: "SQLite: accept a file that was copied without its log (-wal), whose latest jobs are missing",
		},
		"rotate-secret": { summary: "SQLite with a key file: encrypt stored secrets with a new key" },
		reencrypt: {
			summary:
				"encrypt stored secrets with SLUICE_SECRET, so that SLUICE_SECRET_PREVIOUS can be removed; " +
				"--check counts what needs it; SQLite: stop the service",
		},
		...JSON_FLAG,
	},
	examples: ["sluice migrate --check --store sqlite:data/sluice.db"],
	async run({ flags }) {
		const address = storeAddress(flags["store"]);
		const given = (flag: string): boolean => flags[flag] !== undefined;
		const refused = conflictOf(given, address.kind === "postgres");
		if (refused !== undefined) throw new CliError(refused);
		const [check, newSecret, rotateSecret] = [given("check"), given("new-secret"), given("rotate-secret")];
		const { name, migrations } = await migrateStore({
			address,
			check,
			newSecret,
			rotateSecret,
			acceptMissingLog: given("accept-missing-log"),
		}).catch(fail);
		const done = check ? "missing" : "applied";
		const isCurrent = !check || migrations.length === 0;
		const key = keyPlace("");
		const reencrypted =
			(given("reencrypt") || rotateSecret) && isCurrent
				? await reencryptStore({ address, check, ...key }).catch(fail)
				: undefined;
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ store: name, [done]: migrations, reencrypted })}\n`);
		else if (migrations.length === 0) process.stdout.write(`${name} is up to date.\n`);
		else process.stdout.write(`${name}: ${done} ${migrations.join(", ")}.\n`);
		if (newSecret)
			process.stderr.write(
				"The service accepts another key at its next start. Then create new webhook secrets: " +
					"sluice endpoints webhook-secret ENDPOINT\n",
			);
		if (rotateSecret) process.stderr.write(`${name}.secret has a new key. Back it up.\n`);
		if (!reencrypted) return isCurrent ? 0 : 1;
		const { endpoints, releases, registries, resources, jobs, workers } = reencrypted;
		const what =
			`endpoints: ${endpoints}, releases: ${releases}, registries: ${registries}, resources: ${resources}, ` +
			`jobs: ${jobs}, workers: ${workers}`;
		const removable = key.previousSecret ? ": SLUICE_SECRET_PREVIOUS can be removed" : "";
		process.stderr.write(
			check
				? `Secrets that need an earlier key: ${what}.\n`
				: `Encrypted again: ${what}. Nothing needs an earlier key any more${removable}.\n`,
		);
		return check && endpoints + releases + registries + resources + jobs + workers > 0 ? 1 : 0;
	},
};

function conflictOf(given: (flag: string) => boolean, isPostgres: boolean): string | undefined {
	const check = given("check");
	const conflicts: readonly [boolean, string][] = [
		[given("accept-missing-log") && check, "--accept-missing-log cannot be combined with --check."],
		[
			given("new-secret") && isPostgres,
			"--new-secret is for SQLite. With PostgreSQL, stop all servers and run: DELETE FROM meta WHERE name = 'seal'.",
		],
		[
			given("new-secret") && (check || given("reencrypt")),
			"--new-secret cannot be combined with --check or --reencrypt.",
		],
		[
			given("rotate-secret") && (check || given("new-secret")),
			"--rotate-secret cannot be combined with --check or --new-secret.",
		],
		[
			given("rotate-secret") && isPostgres,
			"--rotate-secret is for SQLite. With PostgreSQL, start the servers with a new SLUICE_SECRET " +
				"and the earlier one as SLUICE_SECRET_PREVIOUS, then use --reencrypt.",
		],
	];
	return conflicts.find(([applies]) => applies)?.[1];
}
