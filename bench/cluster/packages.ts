/**
 * The other queues have a package file of their own: who does not run this benchmark does not
 * install them.
 */
import { existsSync, readFileSync } from "node:fs";

const FOLDER = new URL("node_modules/", import.meta.url);

/** Whether `npm ci --prefix bench/cluster` was run. */
export function areInstalled(): boolean {
	return existsSync(FOLDER);
}

/**
 * A package of `bench/cluster/package.json` and its version. Untyped: the type check of a clone
 * without it must pass.
 */
export async function installed(name: string): Promise<{ api: any; version: string }> {
	const { version } = JSON.parse(readFileSync(new URL(`${name}/package.json`, FOLDER), "utf8")) as {
		version: string;
	};
	return { api: (await import(name)) as unknown, version };
}
