/** Logins to registries of container images in `sluice.yaml`, and their passwords (D45). */
import { dirname, resolve } from "node:path";
import { readRegistryLogin, type RegistryLogin } from "../core/registry-login.ts";
import { isObject } from "../core/schema.ts";
import type { Sources } from "./sources.ts";

interface Settings {
	username?: unknown;
	passwordEnv?: string;
	passwordFile?: string;
}

type Source = Pick<Sources, "env" | "readFile"> & {
	/** Path of `sluice.yaml`. */
	path: string;
};

/** `raw`: of any form; what its schema refuses is among the problems already. */
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
