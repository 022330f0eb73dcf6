/** Rules of releases: what changed, which is kept, which comes back, and who makes place for whom (D50). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasFailed, KEPT_RELEASES, outdatedVersions, rollbackTarget } from "./history.ts";
import { diffOf, type LaunchedSettings, launchedSettings, withLaunched } from "./launched-settings.ts";
import { RELEASE_DEFAULTS } from "./release-schema.ts";
import { type Rollout, rolloutStep } from "./rollout.ts";

const launched = (given: Partial<LaunchedSettings> & { image?: string } = {}): LaunchedSettings => {
	const { image = "a:1", ...rest } = given;
	const launcher = { type: "docker", image };
	return { launcher, env: {}, gpusPerWorker: 0, ...rest };
};

describe("what a release changed", () => {
	it("D50: settings with their values, variables by name only", () => {
		const before = launched({
			env: { KEPT: "1", GONE: "secret one", OTHER: "secret two" },
			gpuMemoryGb: 4,
			gpusPerWorker: 1,
		});
		const after = launched({
			image: "a:2",
			env: { KEPT: "1", OTHER: "secret three", NEW: "secret four" },
			gpusPerWorker: 2,
		});
		const changes = diffOf(before, after);
		expect(changes).toEqual([
			{ field: "env.GONE", old: "(set)", new: null },
			{ field: "env.NEW", old: null, new: "(set)" },
			{ field: "env.OTHER", old: "(set)", new: "(changed)" },
			{ field: "gpuMemoryGb", old: 4, new: null },
			{ field: "gpusPerWorker", old: 1, new: 2 },
			{ field: "launcher.image", old: "a:1", new: "a:2" },
		]);
		expect(JSON.stringify(changes)).not.toContain("secret");
		expect(diffOf(after, after)).toEqual([]);
	});

	it("D50: settings of modules, which a rollback sets or removes with the others", () => {
		const [before, after] = [launched({ ruled: { by: 1, kept: 2 } } as object), launched({ other: "a" } as object)];
		expect(diffOf(before, after)).toEqual([
			{ field: "other", old: null, new: "a" },
			{ field: "ruled", old: { by: 1, kept: 2 }, new: null },
		]);
		expect(launchedSettings({ ...before, workersMin: 1 } as object as LaunchedSettings)).toEqual(before);
		expect(withLaunched({ workersMax: 5, ...after }, before)).toEqual({ workersMax: 5, ...before });
	});

	it("D50: a variable of any name", () => {
		const added = [{ field: "env.constructor", old: null, new: "(set)" }];
		expect(diffOf(launched(), launched({ env: Object.fromEntries([["constructor", "a"]]) }))).toEqual(added);
	});

	it("D50: a rollback takes launched settings whole, and leaves the others", () => {
		const current = { workersMax: 5, ...launched({ image: "a:2", gpuMemoryGb: 4, env: { A: "1" } }) };
		expect(withLaunched(current, launched())).toEqual({ workersMax: 5, ...launched() });
	});
});

type State = "unproven" | "healthy" | "failed";

/** Releases with these hashes and states, from version 1. */
const history = (...each: [hash: string, state: State, failures?: number][]) =>
	each.map(([launchHash, state, failures = 0], index) => ({ version: index + 1, launchHash, state, failures }));

describe("what a release goes back to", () => {
	it.each([
		["the last healthy one", history(["a", "healthy"], ["b", "healthy"], ["c", "unproven"]), 2],
		["not one that was never healthy", history(["a", "healthy"], ["b", "unproven"], ["c", "unproven"]), 1],
		["nothing without a healthy one", history(["a", "unproven"], ["b", "unproven"]), undefined],
		["not the same settings", history(["a", "healthy"], ["b", "failed"], ["a", "unproven"]), undefined],
		[
			"not what failed since",
			history(["a", "healthy"], ["b", "failed"], ["a", "failed"], ["c", "unproven"]),
			undefined,
		],
	])("D50: %s", (_, releases, version) => {
		expect(rollbackTarget(releases)?.version).toBe(version);
	});

	it("D50: after failAfter crashes before a worker was healthy; 0: never", () => {
		const [each] = history(["a", "unproven", 3]);
		expect(hasFailed(each!, { failAfter: 3 })).toBe(true);
		expect(hasFailed(each!, { failAfter: 4 })).toBe(false);
		expect(hasFailed(each!, { failAfter: 0 })).toBe(false);
		expect(hasFailed({ ...each!, state: "healthy" }, { failAfter: 3 })).toBe(false);
	});

	it("D50: 100 are kept, and those that workers run or that would come back", () => {
		const many = history(...Array.from({ length: KEPT_RELEASES }, (_, n): [string, State] => [`${n + 1}`, "unproven"]));
		const running = new Set(["1"]);
		expect(outdatedVersions(many, { added: 0, running })).toEqual([]);
		expect(outdatedVersions(many, { added: 3, running })).toEqual([2, 3]);
		many[1]!.state = "healthy";
		expect(outdatedVersions(many, { added: 3, running })).toEqual([3]);
	});
});

/** Steps until nothing of an earlier release is left; `healthy`: whether new workers get healthy. */
function rolledOut(size: number, rule: { maxSurge: number }, q: { hasRoom: boolean; healthy: boolean }) {
	let state: Rollout = { old: size, pending: 0, arrived: 0, ahead: 0, makers: q.hasRoom ? 0 : 1 };
	let settled = 0;
	let least = size;
	let most = size;
	for (let round = 0; round < 10 * (size + 1) && state.old > 0; round += 1) {
		const { retire, ahead, start } = rolloutStep(state, rule);
		const old = state.old - retire;
		const pending = state.pending + start;
		least = Math.min(least, old + settled);
		most = Math.max(most, old + settled + pending);
		const arrived = q.healthy ? pending : 0;
		settled += arrived;
		// Others are started in the place of those that crash.
		state = { ...state, old, ahead, pending: 0, arrived };
	}
	return { old: state.old, least, most };
}

const rules = fc.record({ maxSurge: fc.integer({ min: 0, max: 4 }) });

describe("the workers of a rollout", () => {
	it("D50: by default one more than before, and never fewer that take jobs", () => {
		expect(rolledOut(3, RELEASE_DEFAULTS, { hasRoom: true, healthy: true })).toEqual({ old: 0, least: 3, most: 4 });
		expect(rolledOut(3, RELEASE_DEFAULTS, { hasRoom: true, healthy: false })).toEqual({ old: 3, least: 3, most: 4 });
	});

	it("D50: where nothing is free, one makes place, and no second one until the first is healthy", () => {
		expect(rolledOut(3, RELEASE_DEFAULTS, { hasRoom: false, healthy: true })).toEqual({ old: 0, least: 2, most: 3 });
		expect(rolledOut(3, RELEASE_DEFAULTS, { hasRoom: false, healthy: false })).toEqual({ old: 2, least: 2, most: 3 });
	});

	it("D50: at any rule all are replaced, within maxSurge, and only by a healthy version", () => {
		fc.assert(
			fc.property(fc.integer({ min: 1, max: 8 }), rules, fc.boolean(), fc.boolean(), (size, rule, hasRoom, healthy) => {
				const surge = hasRoom ? rule.maxSurge : 0;
				const { old, least, most } = rolledOut(size, rule, { hasRoom, healthy });
				const without = surge === 0 ? 1 : 0;
				expect(old).toBe(healthy ? 0 : size - without);
				expect(least).toBeGreaterThanOrEqual(size - without);
				expect(most).toBeLessThanOrEqual(size + surge);
			}),
		);
	});
});
