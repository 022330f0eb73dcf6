/** Settings of an endpoint as they are stored, merged with a patch, and shown. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Endpoint, ENDPOINT_DEFAULTS, mergeSettings, settingsOf } from "./endpoint.ts";
import { DEFAULT_LIMITS, LIMITED_OPERATIONS } from "./limits.ts";
import type { Schema } from "../../lib/schema.ts";
import { ENDPOINT_SCHEMA, MEMBER_PROPERTIES, readEndpoint } from "../../launchers/endpoint-settings.ts";

function fields(raw: unknown, id = "e"): string[] {
	const read = readEndpoint(id, raw);
	return read.ok ? [] : read.faults.map(({ field }) => field);
}

function endpoint(raw: object = {}): Endpoint {
	const read = readEndpoint("e", raw);
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return read.endpoint;
}

/** Settings with every kind of value that may stand in them. */
const someSettings = fc.record(
	{
		name: fc.string({ maxLength: 20 }),
		workersMax: fc.integer({ min: 0, max: 1000 }),
		idleTimeout: fc.integer({ min: 1, max: 3600 }),
		scalerType: fc.constantFrom("QUEUE_DELAY", "REQUEST_COUNT"),
		launcher: fc.oneof(
			fc.constant({ type: "external" }),
			fc.record(
				{
					type: fc.constant("process"),
					command: fc.array(fc.string(), { minLength: 1 }),
					cwd: fc.constant("/w"),
				},
				{ requiredKeys: ["type", "command"] },
			),
		),
		env: fc.dictionary(fc.stringMatching(/^[A-Z_]{1,9}$/), fc.oneof(fc.string(), fc.integer(), fc.boolean())),
		limits: fc.oneof(
			fc.constantFrom("off", false),
			fc.dictionary(
				fc.constantFrom(...LIMITED_OPERATIONS),
				fc.record(
					{
						per10s: fc.oneof(fc.nat(), fc.constantFrom("off", false)),
						concurrent: fc.oneof(fc.nat(), fc.constant("off")),
					},
					{ requiredKeys: [] },
				),
			),
		),
		retention: fc.record({ run: fc.nat(), runsync: fc.nat(), records: fc.nat() }, { requiredKeys: [] }),
		webhookSecret: fc
			.uint8Array({ minLength: 24, maxLength: 64 })
			.map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`),
	},
	{ requiredKeys: [] },
);

describe("settings that are kept", () => {
	it("D35: an endpoint written as JSON reads back as itself", () => {
		fc.assert(
			fc.property(someSettings, (raw) => {
				const { id, ...settings } = endpoint(raw);
				expect(readEndpoint(id, JSON.parse(JSON.stringify(settings)))).toStrictEqual({
					ok: true,
					endpoint: { id, ...settings },
				});
			}),
		);
	});

	it("D35: the defaults of the schema are those of the decisions, and each setting has its own", () => {
		const { id: _, name: __, ...settings } = endpoint();
		expect(settings).toEqual(ENDPOINT_DEFAULTS);
		for (const [name, { description, default: standard }] of Object.entries<Schema>(ENDPOINT_SCHEMA.properties)) {
			expect(description, name).toMatch(/\.$/);
			const optional = [
				"name",
				"webhookSecret",
				"gpuMemoryGb",
				"sleep",
				"warmup",
				"management",
				...Object.keys(MEMBER_PROPERTIES),
			];
			expect(standard === undefined, name).toBe(optional.includes(name));
		}
		expect(
			Object.entries<Schema>(ENDPOINT_SCHEMA.properties)
				.filter(([, { writeOnly }]) => writeOnly)
				.map(([name]) => name),
		).toEqual(["webhookSecret"]);
	});

	it("spec 8: the schema has the limits of the table", () => {
		const shown = ENDPOINT_SCHEMA.properties.limits.oneOf!.find(({ type }) => type === "object")!.properties!;
		for (const operation of LIMITED_OPERATIONS) {
			const { per10s, concurrent } = shown[operation]!.properties!;
			const { per10s: rate = "off", concurrent: atOnce = "off" } = DEFAULT_LIMITS[operation];
			expect([per10s!.default, concurrent!.default], operation).toEqual([rate, atOnce]);
		}
	});

	it("D35: ids", () => {
		for (const id of ["a", "x".repeat(64), "A-_9"]) expect(readEndpoint(id, {}).ok, id).toBe(true);
		for (const id of ["", "x".repeat(65), "a/b", "a\n"])
			expect(readEndpoint(id, {}), id).toMatchObject({ ok: false, faults: [{ field: "id" }] });
	});
});

describe("mergeSettings", () => {
	// The table of RFC 7396, appendix A, where both sides are objects.
	it.each([
		[{ a: "b" }, { a: "c" }, { a: "c" }],
		[{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
		[{ a: "b" }, { a: null }, {}],
		[{ a: "b", b: "c" }, { a: null }, { b: "c" }],
		[{ a: ["b"] }, { a: "c" }, { a: "c" }],
		[{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
		[{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
		[{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
		[{ e: null }, { a: 1 }, { e: null, a: 1 }],
		[{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
		[{ limits: "off" }, { limits: { queue: 5 } }, { limits: { queue: 5 } }],
	])("D39: %j and the patch %j give %j", (current, patch, outcome) => {
		const before = structuredClone(current);
		expect(mergeSettings(current, patch)).toStrictEqual(outcome);
		expect(current).toEqual(before);
	});

	it.each([null, 7, "x", [], ["a"]])("D39: a patch that is %j is refused when the outcome is read", (patch) => {
		expect(fields(mergeSettings({ name: "x" }, patch))).toEqual([""]);
	});

	it("D39: null brings the default back, and the rest stays", () => {
		const { id: _, ...settings } = endpoint({
			workersMax: 7,
			env: { A: "1", B: "2" },
			retention: { run: 5, runsync: 6 },
			limits: { queue: 3, run: { per10s: 1 } },
		});
		const patched = endpoint(
			mergeSettings(settings, {
				workersMax: null,
				env: { A: null, C: 3 },
				retention: { run: null },
				limits: { run: null },
			}) as object,
		);
		expect(patched).toEqual({
			...endpoint(),
			env: { B: "2", C: "3" },
			retention: { run: 1_800_000, runsync: 6, records: 604_800_000 },
			limits: { queue: 3 },
		});
	});

	it("D25, D39: a launcher of another type replaces the old one, one of the same type merges into it", () => {
		const current = { launcher: { type: "process", command: ["a"], cwd: "/w" } };
		expect(endpoint(mergeSettings(current, { launcher: { type: "external" } }) as object).launcher).toEqual({
			type: "external",
		});
		expect(mergeSettings(current, { launcher: { command: ["b"] } })).toEqual({
			launcher: { type: "process", command: ["b"], cwd: "/w" },
		});
		expect(mergeSettings(current, { launcher: { type: "process", cwd: null } })).toEqual({
			launcher: { type: "process", command: ["a"] },
		});
		expect(fields(mergeSettings({ launcher: { type: "external" } }, { launcher: { type: "process" } }))).toEqual([
			"launcher.command",
		]);
	});

	it("D39: no member of a patch reaches a prototype", () => {
		const patch: unknown = JSON.parse(
			'{"__proto__":{"workersMax":9},"env":{"__proto__":{"x":1}},"constructor":{"prototype":{"y":1}}}',
		);
		const outcome = mergeSettings({ env: {} }, patch);
		expect(fields(outcome)).toEqual(["env.__proto__", "__proto__", "constructor"]);
		expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
	});
});

describe("settingsOf", () => {
	it("D39: shows all but the values of env and the webhook secret", () => {
		const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
		const { env: _, webhookSecret: __, ...rest } = endpoint({ webhookSecret: secret, env: { TOKEN: "hidden", B: 1 } });
		const shown = settingsOf(endpoint({ webhookSecret: secret, env: { TOKEN: "hidden", B: 1 } }));
		expect(shown).toStrictEqual({ ...rest, env: ["TOKEN", "B"] });
		expect(JSON.stringify(shown)).not.toMatch(/hidden|whsec/);
	});
});
