/**
 * Each module can be removed: its folder, and its import and its entry in `src/modules/index.ts`. Here all at once;
 * `SLUICE_TEST_WITHOUT=alerts vitest run --project without` removes one, and runs what of the specification is not its
 * own.
 */
import { execFile } from "node:child_process";
import {
	appendFileSync,
	cpSync,
	existsSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { SPECIFICATION } from "./modules.ts";
import { FOLDER, LISTS, listWithout, moduleNames, withoutModule, withThoseThatNeed } from "./support/without-module.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const WITHOUT = process.env["SLUICE_TEST_WITHOUT"];
const REMOVED = WITHOUT ? withThoseThatNeed(WITHOUT) : moduleNames();

/** A copy of the source without the modules, in which packages are found. Removed after the test. */
function copyWithout(names: readonly string[]): string {
	const copy = mkdtempSync(join(tmpdir(), "sluice-test-"));
	onTestFinished(() => rmSync(copy, { recursive: true }));
	for (const part of ["src", "packages/worker/src", "packages/worker/package.json", "package.json"])
		cpSync(join(ROOT, part), join(copy, part), {
			recursive: true,
			filter: (path) => !path.endsWith(".test.ts"),
		});
	symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
	const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
	const include = ["src", "packages/worker/src"];
	writeFileSync(join(copy, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
	for (const name of names) rmSync(join(copy, "src/modules", name), { recursive: true });
	for (const list of LISTS.map((each) => join(copy, "src/modules", each)).filter(existsSync))
		writeFileSync(list, names.reduce(listWithout, readFileSync(list, "utf8")));
	return copy;
}

/** What the compiler has to say. */
async function faultsOf(copy: string): Promise<string[]> {
	const tsc = join(ROOT, "node_modules/.bin/tsc");
	const { stdout } = await promisify(execFile)(tsc, ["--noEmit", "--pretty", "false", "-p", copy], {
		env: process.env,
	}).catch((error: { stdout: string }) => error);
	return stdout.split("\n").filter((line) => line.includes("error"));
}

describe("removal of modules", () => {
	it(`the service compiles without ${REMOVED.join(", ")}`, async () => {
		const copy = copyWithout(REMOVED);
		expect(await faultsOf(copy)).toEqual([]);
		// Planted: a file of the kernel that needs one.
		const [name] = REMOVED;
		appendFileSync(
			join(copy, "src/kernel/events.ts"),
			`export type Planted = import("../modules/${name}/module.ts");\n`,
		);
		expect(await faultsOf(copy)).toEqual([
			expect.stringMatching(`src/kernel/events.ts.*Cannot find module '../modules/${name}/module.ts'`),
		]);
	});

	it("a list without a module names it no more, and the others still", () => {
		const list = [
			"/** The modules. */",
			'import { AUDIT } from "./audit/definition.ts";',
			'import { alerts } from "./alerts/module.ts";',
			'import type { ServiceModule } from "./module.ts";',
			"",
			"export const MODULES: readonly ServiceModule[] = [alerts, AUDIT];",
			"",
		];
		const without = (name: string): string[] => listWithout(list.join("\n"), name).split("\n");
		expect(without("alerts")).toEqual([
			...list.slice(0, 2),
			list[3],
			"",
			"export const MODULES: readonly ServiceModule[] = [AUDIT];",
			"",
		]);
		expect(without("audit").at(-2)).toBe("export const MODULES: readonly ServiceModule[] = [alerts, ];");
		expect(without("other")).toEqual(list);
	});

	it("vitest keeps the lists without one module apart from those without another", () => {
		const names = moduleNames().map((name) => withoutModule(name).name);
		expect(new Set(names).size).toBe(names.length);
	});

	it("each module is in a list, and the files of the specification that need one are there", () => {
		const lists = LISTS.map((list) => join(FOLDER, list)).filter(existsSync);
		for (const name of moduleNames())
			expect(
				lists.some((list) => readFileSync(list, "utf8").includes(`"./${name}/`)),
				name,
			).toBe(true);
		expect(Object.keys(SPECIFICATION).filter((name) => !moduleNames().includes(name))).toEqual([]);
		const own = Object.values(SPECIFICATION).flat();
		expect(own.filter((path) => !existsSync(join(ROOT, "test", path)))).toEqual([]);
	});
});
