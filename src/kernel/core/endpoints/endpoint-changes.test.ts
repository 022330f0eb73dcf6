/** What differs between two settings. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { changesBetween } from "./endpoint-changes.ts";
import { sortedText } from "../../../../test/support/sorted-json.ts";

it("D39: names each member that differs, a list as a whole, and no value of a secret", () => {
	const before = {
		workersMax: 3,
		launcher: { type: "docker", image: "a", volumes: ["x:/y"] },
		env: { KEPT: "1", TOKEN: "old-secret", FORMER: "old-secret" },
		sleep: { command: ["s"] },
	};
	const after = {
		workersMax: 5,
		launcher: { type: "docker", image: "a", volumes: ["x:/z"] },
		env: { KEPT: "1", TOKEN: "new-secret", NEW: "new-secret" },
		webhookSecret: "new-secret",
		warmup: { input: {} },
	};
	const changes = changesBetween(before, after);
	expect(changes).toEqual([
		{ field: "workersMax", action: "change", before: 3, after: 5 },
		{ field: "launcher.volumes", action: "change", before: ["x:/y"], after: ["x:/z"] },
		{ field: "env.TOKEN", action: "change" },
		{ field: "env.FORMER", action: "remove" },
		{ field: "env.NEW", action: "add" },
		{ field: "sleep", action: "remove", before: { command: ["s"] } },
		{ field: "webhookSecret", action: "add" },
		{ field: "warmup", action: "add", after: { input: {} } },
	]);
	expect(JSON.stringify(changes)).not.toContain('secret"');
});

it("D39: the order of members is no difference, all else is one", () => {
	expect(changesBetween({ a: { b: 1, c: [{ d: 1, e: 2 }] } }, { a: { c: [{ e: 2, d: 1 }], b: 1 } })).toEqual([]);
	fc.assert(
		fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
			const [before, after] = [{ one }, { one: other }];
			const isSame = sortedText(one) === sortedText(other);
			expect(changesBetween(before, after).length === 0).toBe(isSame);
			expect(changesBetween(before, structuredClone(before))).toEqual([]);
		}),
	);
});
