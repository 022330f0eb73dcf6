/** A configuration from given sources; the working directory is /srv. */
import { MODULES } from "../../src/modules/index.ts";
import { type Config, loadConfig } from "../../src/kernel/config/config.ts";

export interface Setup {
	flags?: Record<string, string>;
	env?: Record<string, string>;
	files?: Record<string, string>;
}

function load({ flags = {}, env = {}, files = {} }: Setup): ReturnType<typeof loadConfig> {
	return loadConfig({ modules: MODULES, flags, env, cwd: "/srv", readFile: (path) => files[path] });
}

export function config(setup: Setup): Config {
	const loaded = load(setup);
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	return loaded.config;
}

export function problems(setup: Setup): string[] {
	const loaded = load(setup);
	return loaded.ok ? [] : loaded.problems;
}
