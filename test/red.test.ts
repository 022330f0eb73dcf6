/**
 * `test/red.json` lists the tests that have found a bug: file, title, the commit that mended it, the bug. A test that
 * is not in it may never have been red.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import red from "./red.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));

it.each(red)("the test that found a bug is there: $title", ({ file, title, commit, bug }) => {
	expect(readFileSync(ROOT + file, "utf8")).toContain(title);
	expect(commit).toMatch(/^[0-9a-f]{8}$/);
	expect(bug).toMatch(/\.$/);
});
