/** Image registry logins in `sluice.yaml` (D45). */
import { dirname, resolve } from "node:path";
import { readRegistryLogin, type RegistryLogin } from "../core/access/registry-login.ts";
import { isObject } from "../lib/schema.ts";
import type { Sources } from "./sources.ts";

interface Settings {
	username?: unknown;
	passwordEnv?: string;
	passwordFile?: string;
}

type Source = Pick<Sources, "env" | "readFile"> & {
	path: string;
};

/** `raw` may have any form. Its schema has reported what it refuses. */
export function readRegistries(
	raw: unknown,
	source: Source,
	problems: string[],
): { registries: Map<string, RegistryLogin>; secretVariables: string[] } {
	const registries = new Map<string, RegistryLogin>();
	const secretVariables: string[] = [];
	for (const [name, settings] of isObject(raw) ? Object.entries(raw) : []) {
		if (!isObject(settings)) continue;
		const { username, passwordEnv, passwordFile } = settings as Settings;
		const where = `${source.path}: registries.${name}`;
		if ((passwordEnv === undefined) === (passwordFile === undefined)) {
			problems.push(`${where} must have either passwordEnv or passwordFile.`);
			continue;
		}
		const password =
			passwordEnv === undefined
				? fileText(resolve(dirname(source.path), String(passwordFile)), source)
				: source.env[passwordEnv];
		if (passwordEnv !== undefined) secretVariables.push(passwordEnv);
		if (!password) {
			problems.push(
				passwordEnv === undefined
					? `${where}.passwordFile: cannot read a password from ${String(passwordFile)}.`
					: `${where}.passwordEnv: the variable ${passwordEnv} is not set.`,
			);
			continue;
		}
		const read = readRegistryLogin(name, { username, password });
		if (read.ok) registries.set(read.registry, read.login);
		else
			for (const { field, message } of read.faults) {
				// The schema of the file has reported a bad user name.
				if (field !== "username") problems.push(`${where}${field === "registry" ? "" : `.${field}`} ${message}`);
			}
	}
	return { registries, secretVariables };
}

function fileText(path: string, { readFile }: Source): string | undefined {
	return readFile(path)?.replace(/\r?\n$/, "");
}
