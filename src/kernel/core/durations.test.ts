/** Durations as text: which are accepted, what they become, and that printing them loses nothing. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { ENDPOINT_SCHEMA, readEndpoint } from "../launchers/endpoint-settings.ts";
import { durationText, parseDuration, withDurationTexts, withDurations } from "./durations.ts";

it.each([
	["500ms", 500],
	["30s", 30_000],
	["5m", 300_000],
	["24h", 86_400_000],
	["7d", 604_800_000],
	["1h30m", 5_400_000],
	["1d2h3m4s5ms", 93_784_005],
	["0s", 0],
])("D35: the duration %s has %d ms", (text, ms) => {
	expect(parseDuration(text)).toBe(ms);
});

it.each(["", "5", "m", "5 m", "-5m", "1.5h", "5m1h", "5M", "1w", "5mm", "9999999999s"])(
	"D35: %j is no duration",
	(text) => {
		expect(parseDuration(text)).toBeUndefined();
	},
);

it("D35: what is printed is read as the same number", () => {
	fc.assert(
		fc.property(fc.integer({ min: 0, max: 365 * 86_400_000 }), (ms) => {
			expect(parseDuration(durationText(ms))).toBe(ms);
		}),
	);
	expect([90_000, 5_400_000, 5001].map(durationText)).toEqual(["1m30s", "1h30m", "5001ms"]);
});

const TEXTS = {
	idleTimeout: "5m",
	executionTimeoutMs: "1h30m",
	retention: { run: "24h", records: "7d" },
	leaseMs: "20s",
	webhooks: { schedule: ["10s", "5m"] },
	launcher: { type: "slurm", command: ["python", "w.py"], sharedDir: "/shared", drainBefore: "10m" },
};

it("D35: settings take durations at any depth, in the unit of the setting, and print them again", () => {
	const read = readEndpoint("e", TEXTS);
	expect(read).toMatchObject({
		ok: true,
		endpoint: {
			idleTimeout: 300,
			executionTimeoutMs: 5_400_000,
			retention: { run: 86_400_000, runsync: 60_000, records: 604_800_000 },
			leaseMs: 20_000,
			webhooks: { schedule: [10_000, 300_000] },
			launcher: { drainBefore: 600 },
		},
	});
	expect(withDurationTexts(ENDPOINT_SCHEMA, withDurations(ENDPOINT_SCHEMA, TEXTS))).toEqual({
		...TEXTS,
		retention: { run: "1d", records: "7d" },
	});
});

it("D35: text elsewhere stays text, numbers keep their meaning", () => {
	const settings = { name: "5m", env: { IDLE: "5m" }, idleTimeout: 5, leaseMs: 5000 };
	expect(readEndpoint("e", settings)).toMatchObject({ ok: true, endpoint: settings });
});

it("D35: the message of an invalid duration has the bound, the unit and an example", () => {
	const read = readEndpoint("e", { idleTimeout: "2h", leaseMs: "soon", retention: "24h" });
	expect(read.ok ? [] : read.faults).toEqual([
		{ field: "idleTimeout", message: "must be a whole number of seconds from 1 to 3600, or a duration such as 5m." },
		{ field: "retention", message: "must be an object: write { run: 24h, runsync: 1m, records: 7d }." },
		{ field: "leaseMs", message: "must be a whole number of ms from 2000 to 600000, or a duration such as 20s." },
	]);
	expect(readEndpoint("e", { idleTimeout: "500ms" }).ok).toBe(false);
});
