/** Names in the bundle of the service (`scripts/build-service.ts`). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bundle } from "../scripts/build-service.ts";

it("a file that is loaded late has another name when its content is another; entries keep theirs", async () => {
	const root = `${mkdtempSync(join(tmpdir(), "sluice-test-"))}/`;
	onTestFinished(() => rmSync(root, { recursive: true }));
	mkdirSync(`${root}src`);
	writeFileSync(`${root}src/main.ts`, 'export const late = () => import("./late.ts");\n');
	/** Names of the files of a bundle with this `late.ts`. */
	async function namesWith(late: string): Promise<string[]> {
		writeFileSync(`${root}src/late.ts`, late);
		const files = await bundle({ root, entries: ["main"], write: false });
		return files.map(({ fileName }) => fileName).toSorted();
	}
	const before = await namesWith("export const version = 1;\n");
	expect(before).toEqual([expect.stringMatching(/^chunks\/late-.+\.js$/), "main.js"]);
	expect(await namesWith("export const version = 1;\n")).toEqual(before);
	const after = await namesWith("export const version = 2;\n");
	expect(after).toEqual([expect.stringMatching(/^chunks\/late-.+\.js$/), "main.js"]);
	expect(after[0]).not.toBe(before[0]);
});
