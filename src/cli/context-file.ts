/** The file of contexts: named addresses of services with their keys, for this user only (D36). */
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { replaceFile } from "../durable-file.ts";
import { isObject } from "../core/schema.ts";
import { CliError } from "./errors.ts";

interface Context {
	name: string;
	url: string;
	key: string | undefined;
}

export interface Contexts {
	/** Name of the one that commands use without a flag or variable. */
	current: string | undefined;
	all: readonly Context[];
}

type Env = Readonly<Record<string, string | undefined>>;

export function contextsFile(env: Env): string {
	const folder = env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
	return join(folder, "sluice", "contexts.json");
}

/** None if there is no file. Throws {@link CliError} for one that cannot be used. */
export function readContexts(env: Env): Contexts {
	const path = contextsFile(env);
	let value: unknown;
	try {
		value = JSON.parse(readFileSync(path, "utf8"));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return { current: undefined, all: [] };
		throw unusable(path);
	}
	if (!isObject(value) || !isObject(value["contexts"])) throw unusable(path);
	const { current } = value;
	const all = Object.entries(value["contexts"]).map(([name, entry]) => {
		const { url, key } = (entry ?? {}) as Record<string, unknown>;
		if (typeof url !== "string") throw unusable(path);
		return { name, url, key: typeof key === "string" ? key : undefined };
	});
	return { current: typeof current === "string" ? current : undefined, all };
}

function unusable(path: string): CliError {
	return new CliError(`${path} is not a file of contexts. Correct or remove it; 'sluice context add' makes a new one.`);
}

/** Readable by this user only. Throws {@link CliError}. */
export function writeContexts(env: Env, { current, all }: Contexts): void {
	const path = contextsFile(env);
	const contexts = Object.fromEntries(all.map(({ name, url, key }) => [name, { url, key }]));
	try {
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		replaceFile(path, `${JSON.stringify({ current, contexts }, null, 2)}\n`);
	} catch (error) {
		throw new CliError(`Cannot write ${path}: ${(error as Error).message}`, 1);
	}
}

/** The context of this name, or without one the current one, if there is one. */
export function contextOf(name: string | undefined, env: Env): Context | undefined {
	const { current, all } = readContexts(env);
	const wanted = name ?? current;
	const found = all.find((each) => each.name === wanted);
	if (found || name === undefined) return found;
	throw new CliError(
		all.length === 0
			? `There is no context '${name}'. Add it: sluice context add ${name} --url URL`
			: `There is no context '${name}'; there are ${all.map((each) => each.name).join(", ")}.`,
	);
}
