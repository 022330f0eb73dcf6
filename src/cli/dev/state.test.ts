/**
 * What `sluice dev` remembers is replaced as a whole, so that a crash leaves the old or the new.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openState } from "./state.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-dev-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("D36: the key stays, the worker is remembered, and the file is never written in place", () => {
	const { key, setWorker } = openState({ folder, fresh: false });
	const file = join(folder, ".sluice/dev.json");
	const before = statSync(file);
	setWorker("w1");
	expect(statSync(file).ino).not.toBe(before.ino);
	expect(statSync(file).mode & 0o777).toBe(0o600);
	expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ key, worker: "w1" });
	expect(openState({ folder, fresh: true })).toMatchObject({ key, lastWorker: "w1" });
	expect(readdirSync(join(folder, ".sluice")).toSorted()).toEqual([".gitignore", "dev.json"]);
});
