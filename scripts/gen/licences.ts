/** The packages that a release contains, with their licences, from `package-lock.json`. */
import { readFileSync } from "node:fs";
import { type Page, table } from "./markdown.ts";

/** What the build puts into the console. */
const CONSOLE = ["react", "react-dom", "react-aria-components", "uplot", "markdown-it"];

interface LockedPackage {
	version: string;
	license?: string;
	dev?: boolean;
	devOptional?: boolean;
	dependencies?: Record<string, string>;
}

const FOLDER = "node_modules/";

function packages(): Map<string, LockedPackage> {
	const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
		packages: Record<string, LockedPackage>;
	};
	return new Map(Object.entries(lock.packages).filter(([path]) => path.startsWith(FOLDER)));
}

/** Path of a package as seen from another: Node's search from folder to folder. */
function pathFrom(all: ReadonlyMap<string, LockedPackage>, from: string, name: string): string {
	for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${FOLDER}`)))) {
		const nested = `${at}/${FOLDER}${name}`;
		if (all.has(nested)) return nested;
	}
	return FOLDER + name;
}

/** These packages and what they depend on. */
function closure(all: ReadonlyMap<string, LockedPackage>, names: readonly string[]): Set<string> {
	const found = new Set<string>();
	const add = (path: string): void => {
		const locked = all.get(path);
		if (!locked || found.has(path)) return;
		found.add(path);
		for (const name of Object.keys(locked.dependencies ?? {})) add(pathFrom(all, path, name));
	};
	for (const name of names) add(FOLDER + name);
	return found;
}

function rowsOf(all: ReadonlyMap<string, LockedPackage>, paths: Iterable<string>): string[][] {
	const rows = [...paths].map((path) => {
		const { version, license } = all.get(path)!;
		if (license === undefined) throw new Error(`${path} names no licence.`);
		return [path.slice(path.lastIndexOf(FOLDER) + FOLDER.length), version, license];
	});
	const unique = new Map(rows.map((row) => [row.join(" "), row]));
	return [...unique.values()].toSorted((a, b) => (a.join(" ") < b.join(" ") ? -1 : 1));
}

export const licences: Page = {
	file: "licences.md",
	title: "Third-party licences",
	about: "the packages that a release contains",
	body() {
		const all = packages();
		const service = [...all].flatMap(([path, { dev, devOptional }]) => (dev || devOptional ? [] : [path]));
		const header = ["Package", "Version", "Licence"];
		return [
			"Versions are those of `package-lock.json`. `npm run --silent sbom > sbom.json` writes the " +
				"packages of the service as CycloneDX.",
			"## Service",
			table(header, rowsOf(all, service)),
			"## Console",
			"The build contains what the console uses of these packages.",
			table(header, rowsOf(all, closure(all, CONSOLE))),
		].join("\n\n");
	},
};
