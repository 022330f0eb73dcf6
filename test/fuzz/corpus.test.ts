/**
 * Each stored case, and a few new ones of every target, always the same. `npm run fuzz` runs as many
 * as there is time for (decision 0034).
 */
import { afterAll, describe, expect, it } from "vitest";
import { readCorpus } from "./corpus.ts";
import { campaign, failureOf, turn } from "./loop.ts";
import { TARGETS } from "./targets/index.ts";

describe.each(TARGETS.map((target) => [target.name, target] as const))("%s", (name, target) => {
	const corpus = readCorpus(name);
	afterAll(() => target.close?.());

	it("D2: finds nothing in the stored cases", async () => {
		for (const { value } of corpus)
			expect(await failureOf(target, value), JSON.stringify(value)).toBeUndefined();
	});

	it("D2: finds nothing in a few new ones", async () => {
		const values = corpus.map(({ value }) => value);
		const until = performance.now() + (target.suiteMs ?? 150);
		expect(await turn(campaign(target, values), { seed: 1, until })).toBeUndefined();
	});
});
