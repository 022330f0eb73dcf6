import { globSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = import.meta.dirname;
/** Files and folders in the order of dependency: each imports itself and those before. */
const ORDER = [
	"job-failure.ts",
	"presets/",
	"mapping/",
	"mapping-index.ts",
	"exchange/",
	"openai.ts",
	"server/",
	"job/",
	"adapter.ts",
	"index.ts",
	"main.ts",
];

/** Files that a file imports, types included, in this folder; all others as they are written. */
function importsOf(file: string): string[] {
	const found = readFileSync(join(ROOT, file), "utf8").matchAll(/^(?:import|export)(?: [^;]*? from)? "([^"]+)";/gm);
	return [...found].map(([, name]) => (name!.startsWith(".") ? normalize(join(file, "..", name!)) : name!));
}

function rank(path: string): number {
	return ORDER.findIndex((each) => path.startsWith(each));
}

it("files import none of a later folder", () => {
	const files = globSync("**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
	expect(files.filter((file) => rank(file) === -1)).toEqual([]);
	const wrong = files.flatMap((file) =>
		importsOf(file)
			.filter((wanted) => rank(wanted) > rank(file))
			.map((wanted) => `${file} imports ${wanted}`),
	);
	expect(wrong).toEqual([]);
});

it("mapping-index.ts leads to no file that imports Node's modules or the kit's worker", () => {
	const files = new Set(["mapping-index.ts"]);
	for (const file of files) for (const wanted of importsOf(file)) files.add(wanted);
	expect([...files].filter((file) => rank(file) === -1 || rank(file) > rank("mapping-index.ts"))).toEqual([]);
	expect(files).toContain("presets/index.ts");
});
