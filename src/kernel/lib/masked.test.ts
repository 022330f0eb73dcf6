import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { masked } from "./masked.ts";

const SECRET = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2";

describe("what a receiver answers", () => {
	it("D53: has no secret, however it is encoded and whatever stands around it", () => {
		fc.assert(
			fc.property(
				fc.constantFrom("utf8", "base64", "base64url", "hex"),
				fc.string({ maxLength: 8 }),
				fc.string({ maxLength: 8 }),
				fc.constantFrom(SECRET, "/hook/üñï-çødé/+~?"),
				(encoding, before, after, secret) => {
					const echoed = Buffer.from(before + secret + after).toString(encoding as "hex");
					const shown = masked(`{"got":"${echoed}"}`, [secret]);
					expect(shown).toContain("…");
					// One digit of base64 at either end also has bits of a neighbour.
					const bytes = Buffer.from(shown.replaceAll(/[^A-Za-z0-9+/_-]/g, ""), "base64").toString("latin1");
					for (const text of [shown, bytes]) expect(text).not.toContain(secret.slice(2, -2));
				},
			),
		);
		expect(masked(encodeURIComponent("a b/secret"), ["a b/secret"])).toBe("…");
		expect(masked(Buffer.from(SECRET).toString("hex").toUpperCase(), [SECRET])).toBe("…");
	});

	it("D53: has no beginning of a secret that is cut at its end, encoded or not", () => {
		for (const form of [SECRET, Buffer.from(`Bearer ${SECRET}`).toString("base64")]) {
			const cut = form.slice(0, -12);
			const shown = masked(`got ${cut}`, [SECRET]);
			expect(shown.endsWith("…")).toBe(true);
			expect(shown).not.toContain(cut.slice(-10));
		}
	});

	it("D53: keeps all else, words as short as a secret too", () => {
		expect(masked("channel_is_archived", ["arch", ""])).toBe("channel_is_…ived");
		expect(masked('{"code":40001,"error":"unauthorized"}', [SECRET])).toBe('{"code":40001,"error":"unauthorized"}');
	});
});
