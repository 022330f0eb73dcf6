/** The table of options as a whole. */
import { describe, expect, it } from "vitest";
import { check } from "../lib/schema.ts";
import { type Option, OPTIONS } from "./options.ts";

describe("OPTIONS", () => {
	it.each(Object.entries<Option>(OPTIONS))(
		"D34: %s has all that a reference page needs, and a default that fits",
		(_, { env, schema }) => {
			expect(env).toMatch(/^SLUICE_[A-Z_]+$/);
			expect(schema.description).toMatch(/\.$/);
			if (schema.default !== undefined) expect(check(schema, schema.default)).toEqual([]);
		},
	);

	it("D30, D22: what is secret comes from the environment alone", () => {
		const secrets = Object.values<Option>(OPTIONS).filter(({ schema }) => schema.writeOnly);
		expect(secrets.map(({ env, flag, file }) => [env, flag, file])).toEqual([
			["SLUICE_API_KEY", undefined, undefined],
			["SLUICE_SECRET", undefined, undefined],
			["SLUICE_SECRET_PREVIOUS", undefined, undefined],
		]);
	});

	it("D35: names are unique", () => {
		for (const part of ["env", "flag", "file"] as const) {
			const names = Object.values<Option>(OPTIONS)
				.map((option) => option[part])
				.filter((name) => name !== undefined);
			expect(new Set(names).size).toBe(names.length);
		}
	});
});
