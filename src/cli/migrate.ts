/**
 * `sluice migrate`: brings the schema of a store up to date before servers of a new version start,
 * or only says what is missing.
 */
import { OPTIONS, loadStore } from "../config.ts";
import { migrateStore } from "../stores.ts";
import { JSON_FLAG } from "./common-flags.ts";
import { CliError, readFlags } from "./command.ts";
import type { Command } from "./command.ts";

const FLAGS = {
	store: {
		value: "STORE",
		summary: `store to migrate, as sluice serve takes it (default ${OPTIONS.store.schema.default}; SLUICE_STORE)`,
	},
	check: { summary: "change nothing; exit with 1 when migrations are missing" },
	"new-secret": {
		summary:
			"SQLite: accept another key for secrets at the next start; stored s3Config and webhook secrets become unreadable",
	},
	...JSON_FLAG,
};

export const migrate: Command = {
	name: "migrate",
	summary: "bring the schema of a store up to date; sluice serve does it by itself",
	synopsis: "[--store STORE] [options]",
	flags: FLAGS,
	async run(args) {
		const { help, flags, rest } = readFlags({ ...migrate, args });
		if (help) return 0;
		if (rest.length > 0)
			throw new CliError(`migrate takes no argument '${rest[0]}'; see sluice migrate --help.`);
		const loaded = loadStore({
			flags: { store: flags["store"] },
			env: process.env,
			cwd: process.cwd(),
		});
		if (!loaded.ok) throw new CliError(loaded.problems.join("\n"));
		const check = flags["check"] !== undefined;
		const newSecret = flags["new-secret"] !== undefined;
		if (newSecret && check)
			throw new CliError("--check changes nothing; leave out --new-secret, or --check.");
		if (newSecret && loaded.store.kind === "postgres")
			throw new CliError(
				"--new-secret is for SQLite. With PostgreSQL, stop all servers and run: DELETE FROM meta WHERE name = 'seal'.",
			);
		const { name, migrations } = await migrateStore({
			address: loaded.store,
			check,
			newSecret,
		}).catch((error: unknown) => {
			throw new CliError((error as Error).message, 1);
		});
		if (flags["json"])
			process.stdout.write(
				`${JSON.stringify({ store: name, [check ? "missing" : "applied"]: migrations })}\n`,
			);
		else
			process.stdout.write(
				migrations.length === 0
					? `${name} is up to date.\n`
					: `${name}: ${check ? "missing" : "applied"} ${migrations.join(", ")}.\n`,
			);
		if (newSecret)
			process.stderr.write(
				"The next start of the service accepts another key. Give endpoints new webhook secrets afterwards: sluice endpoints webhook-secret ENDPOINT\n",
			);
		return check && migrations.length > 0 ? 1 : 0;
	},
};
