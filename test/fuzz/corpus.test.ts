/**
 * Each stored case. New ones are for `npm run fuzz`: how many there is time for depends on the
 * machine, and a change must not fail by chance (decision 0034).
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { readCorpus } from "./corpus.ts";
import { KIT, SOURCE } from "./coverage.ts";
import { failureOf } from "./loop.ts";
import { TARGETS } from "./targets/index.ts";

const FILES = [SOURCE, KIT].flatMap((each) => readdirSync(fileURLToPath(each), { recursive: true }).map(String));

describe.each(TARGETS.map((target) => [target.name, target] as const))("%s", (name, target) => {
	afterAll(() => target.close?.());

	it("names files that there are as its sources", () => {
		expect(target.sources.filter((source) => !FILES.some((file) => file.startsWith(source)))).toEqual([]);
	});

	it("D2: finds nothing in the stored cases", async () => {
		for (const { value } of readCorpus(name))
			expect(await failureOf(target, value), JSON.stringify(value)).toBeUndefined();
	});
});
