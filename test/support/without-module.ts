/** Takes a module out of the lists of modules, to show that all the rest does without it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NEEDS, SPECIFICATION, TITLES } from "../modules.ts";

export const FOLDER = fileURLToPath(new URL("../../src/modules/", import.meta.url));

/** The files that list modules. */
export const LISTS = ["index.ts", "launchers.ts", "endpoint-members.ts"];

/** Names of all modules: of their folders. */
export function moduleNames(): string[] {
	return readdirSync(FOLDER, { withFileTypes: true })
		.filter((entry) => entry.isDirectory())
		.map(({ name }) => name);
}

/** The module, and those that go with it. */
export function withThoseThatNeed(name: string): string[] {
	return [name, ...moduleNames().filter((each) => NEEDS[each]?.includes(name))];
}

/** The text of a list without what it imports of the module's folder. */
export function listWithout(text: string, name: string): string {
	let left = text;
	for (const [line, imported] of text.matchAll(new RegExp(`^import \\{ (\\w+) \\} from "\\./${name}/.*\\n`, "gm")))
		left = left.replace(line, "").replace(new RegExp(`(?<![\\w/-])${imported}\\b(?!-)(, ?)?`), "");
	return left;
}

/** A plugin for vitest: the service of the tests is built without the module. */
export function withoutModule(name: string) {
	if (!moduleNames().includes(name)) throw new Error(`There is no module ${name}: ${moduleNames().join(", ")}.`);
	return {
		// Vitest keeps transformed files by the names of plugins: without another module the lists are other files.
		name: `without-module-${name}`,
		enforce: "pre" as const,
		transform: (code: string, id: string) =>
			LISTS.some((list) => id === join(FOLDER, list)) ? withThoseThatNeed(name).reduce(listWithout, code) : undefined,
	};
}

/** The module's own files of the specification, as patterns of vitest. */
export function ownFiles(name: string): string[] {
	return (SPECIFICATION[name] ?? []).map((path) => `test/${path}${path.endsWith(".ts") ? "" : "/**"}`);
}

/** Matches titles of tests that do not need the module. */
export function otherTitles(name: string): RegExp {
	const own = (TITLES[name] ?? []).map((title) => RegExp.escape(title));
	return own.length === 0 ? /^/ : new RegExp(`^(?!.*(?:${own.join("|")}))`);
}
