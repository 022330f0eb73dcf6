/** What the gate leaves to the whole run (gate.ts). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { GATE_OVER_TLS, GROUPS, leftOut } from "./gate.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Modules whose code the tools of the folder call. */
function modulesOf(folder: string): string[] {
	const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
	const texts = names
		.filter((name) => name.endsWith(".ts"))
		.map((name) => readFileSync(join(ROOT, folder, name), "utf8"));
	const imported = texts.flatMap((text) => [...text.matchAll(/"[./]+\/(src\/modules\/[\w-]+)\//g)]);
	return [...new Set(imported.map(([, path]) => path!))].toSorted();
}

describe("the gate", () => {
	it("names files that are there", () => {
		const paths = [
			...GROUPS.flatMap(({ files, of = [] }) => [...files, ...of]),
			...GATE_OVER_TLS.map((name) => `test/spec/${name}.test.ts`),
		];
		expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
		const files = GROUPS.flatMap((group) => group.files);
		expect(files).toEqual([...new Set(files)]);
	});

	it("has a group of which a file, its subject or a file below has changed, and leaves out the others", () => {
		const groups = [
			{ name: "a", files: ["test/a.test.ts"], of: ["src/a", "a.yaml"] },
			{ name: "b", files: ["test/b.test.ts"], of: ["src/ab"] },
			{ name: "never", files: ["test/c.test.ts"] },
		];
		const left = (...changed: string[]): string[] => leftOut(changed, groups).map(({ name }) => name);
		expect(left()).toEqual(["a", "b", "never"]);
		expect(left("README.md")).toEqual(["a", "b", "never"]);
		expect(left("src/a/b/c.ts")).toEqual(["b", "never"]);
		expect(left("a.yaml")).toEqual(["b", "never"]);
		expect(left("src/ab/x.ts")).toEqual(["a", "never"]);
		expect(left("test/b.test.ts", "src/a/x.ts")).toEqual(["never"]);
	});

	it("tortures a module that has changed, if torture has rules or losses of power for it", () => {
		const { of } = GROUPS.find(({ files }) => files.includes("test/torture/many-servers.test.ts"))!;
		const modules = modulesOf("test/torture");
		expect(modules).toContain("src/modules/files");
		expect(of).toEqual(expect.arrayContaining(modules));
	});

	it("has everything where the last whole run is not known", () => {
		expect(leftOut(undefined)).toEqual([]);
	});
});
