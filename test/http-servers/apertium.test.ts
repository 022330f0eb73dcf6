/** apertium-apy: translations by language models, asked with a query, with many processes behind it. */
import { describe, expect, it } from "vitest";
import { lacking, PROGRAMS, titled } from "./programs.ts";
import { processEndpoint, SLOW_MS, site } from "./servers.ts";

const reason = lacking("apertium-apy", "apertium-eng-spa");

/** Mapping of jobs `{pair, text}`, such as "eng|spa". */
const TRANSLATIONS = {
	ready: { path: "/listPairs", everyMs: 50 },
	request: {
		method: "GET",
		path: "/translate",
		query: { langpair: "{input.pair}", q: "{input.text}", markUnknown: "no" },
	},
	answer: { at: "/responseData/translatedText" },
	concurrency: 4,
};

describe.skipIf(reason !== undefined)(titled("apertium-apy as a worker", reason), { timeout: 2 * SLOW_MS }, () => {
	it("translates, several texts at a time, and fails with its words", async (test) => {
		const { run } = await site(test, () =>
			processEndpoint([PROGRAMS["apertium-apy"], "-p", "{port}", "/usr/share/apertium"], TRANSLATIONS, {
				// Without a locale of UTF-8 its programs never answer a text with other letters than ASCII's.
				env: { LC_ALL: "C.UTF-8" },
			}),
		);
		const translations: { pair: string; text: string; says: RegExp }[] = [
			{ pair: "eng|spa", text: "a red house & two cats?", says: /^una casa roja & dos gatos\?$/i },
			{ pair: "spa|eng", text: "¿Dónde está el perro?", says: /^where .*dog\?$/i },
			{ pair: "eng|spa", text: "water", says: /^agua$/i },
		];
		const jobs = await Promise.all(translations.map(({ pair, text }) => run({ pair, text })));
		for (const [n, { says }] of translations.entries()) expect(jobs[n].output).toMatch(says);
		expect(await run({ pair: "eng|xyz", text: "water" })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 400: \{[^]*"explanation": "That pair is not installed"/),
		});
		// A query without the text.
		expect(await run({ pair: "eng|spa" })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 400: [^]*Missing argument q/),
		});
	});
});
