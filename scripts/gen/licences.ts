/** The packages that a release contains, with their licences, from `package-lock.json`. */
import { closure, type LockedPackages, lockedPackages, nameOf, ofService } from "../locked-packages.ts";
import { type Page, table } from "./markdown.ts";

/** What the build puts into the console. */
const CONSOLE = ["react", "react-dom", "react-aria-components", "uplot", "markdown-it"];

function rowsOf(all: LockedPackages, paths: Iterable<string>): string[][] {
	const rows = [...paths].map((path) => {
		const { version, license } = all.get(path)!;
		if (license === undefined) throw new Error(`${path} names no licence.`);
		return [nameOf(path), version, license];
	});
	const unique = new Map(rows.map((row) => [row.join(" "), row]));
	return [...unique.values()].toSorted((a, b) => (a.join(" ") < b.join(" ") ? -1 : 1));
}

export const licences: Page = {
	file: "licences.md",
	title: "Third-party licences",
	about: "the packages that a release contains",
	body() {
		const all = lockedPackages();
		const header = ["Package", "Version", "Licence"];
		return [
			"Versions are those of `package-lock.json`. `npm run --silent sbom > sbom.json` writes the " +
				"packages of the service as CycloneDX.",
			"## Service",
			table(header, rowsOf(all, ofService(all))),
			"## Console",
			"The build contains what the console uses of these packages.",
			table(header, rowsOf(all, closure(all, CONSOLE))),
		].join("\n\n");
	},
};
