/** Named services with their keys, readable by this user only (D36). */
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { replaceFile } from "../../kernel/system/durable-file.ts";
import { withoutMark } from "../../kernel/lib/byte-order-mark.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { CliError } from "./errors.ts";
import type { Env } from "../../kernel/lib/env.ts";

interface Context {
	name: string;
	url: string;
	key: string | undefined;
}

interface Contexts {
	/** Name of the context that is used without a flag or variable. */
	current: string | undefined;
	all: readonly Context[];
}

export function contextsFile(env: Env): string {
	return join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "sluice", "contexts.json");
}

/** Reads the contexts; empty without the file. Throws {@link CliError} for an unusable one. */
export function readContexts(env: Env): Contexts {
	const path = contextsFile(env);
	const unusable = (): CliError =>
		new CliError(`${path} is not a file of contexts. Correct or remove it; 'sluice context add' makes a new one.`);
	let value: unknown;
	try {
		value = JSON.parse(withoutMark(readFileSync(path, "utf8")));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return { current: undefined, all: [] };
		throw unusable();
	}
	if (!isObject(value) || !isObject(value["contexts"])) throw unusable();
	const { current } = value;
	const all = Object.entries(value["contexts"]).map(([name, entry]) => {
		const { url, key } = (entry ?? {}) as Record<string, unknown>;
		if (typeof url !== "string") throw unusable();
		return { name, url, key: typeof key === "string" ? key : undefined };
	});
	return { current: typeof current === "string" ? current : undefined, all };
}

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

/** Returns the current context without a name. */
export function contextOf(name: string | undefined, env: Env): Context | undefined {
	const { current, all } = readContexts(env);
	const found = all.find((each) => each.name === (name ?? current));
	if (found || name === undefined) return found;
	const names = all.map((each) => each.name).join(", ");
	throw new CliError(
		`There is no context '${name}'` +
			(names === "" ? `. Add it: sluice context add ${name} --url URL` : `; there are ${names}.`),
	);
}
