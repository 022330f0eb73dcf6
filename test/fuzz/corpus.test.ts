/**
 * Each stored case. New ones are for `npm run fuzz`: how many there is time for depends on the
 * machine, and a change must not fail by chance (decision 0034).
 */
import { afterAll, describe, expect, it } from "vitest";
import { readCorpus } from "./corpus.ts";
import { failureOf } from "./loop.ts";
import { TARGETS } from "./targets/index.ts";

describe.each(TARGETS.map((target) => [target.name, target] as const))("%s", (name, target) => {
	afterAll(() => target.close?.());

	it("D2: finds nothing in the stored cases", async () => {
		for (const { value } of readCorpus(name))
			expect(await failureOf(target, value), JSON.stringify(value)).toBeUndefined();
	});
});
