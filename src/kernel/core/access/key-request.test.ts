/** What may be asked of a new key: every member just inside and just outside its bounds (D30). */
import { describe, expect, it } from "vitest";
import { readKeyRequest, readKeyRotation } from "./key-request.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const GOOD = { name: "batch", scopes: ["read"] };

function fields(raw: unknown): string[] {
	const read = readKeyRequest(raw, NOW);
	return read.ok ? [] : read.faults.map(({ field }) => field);
}

describe("readKeyRequest", () => {
	it.each([
		[GOOD, GOOD],
		[{ ...GOOD, endpoints: null }, GOOD],
		[
			{ name: "n", scopes: ["read", "write"], endpoints: ["a", "B_-9"] },
			{ name: "n", scopes: ["read", "write"], endpoints: ["a", "B_-9"] },
		],
		[
			{ name: "n", scopes: ["admin"] },
			{ name: "n", scopes: ["admin"] },
		],
		[
			{ name: "n", scopes: ["write", "read", "write"], endpoints: ["a", "a"] },
			{ name: "n", scopes: ["write", "read"], endpoints: ["a"] },
		],
	])("D30: %j is taken as %j", (raw, request) => {
		expect(readKeyRequest(raw, NOW)).toStrictEqual({ ok: true, request });
	});

	it("D30: a name has 1 to 100 characters", () => {
		for (const name of ["x", "x".repeat(100), "\u{1f511}".repeat(100)]) expect(fields({ ...GOOD, name })).toEqual([]);
		for (const name of ["", "x".repeat(101), 7, null, undefined]) expect(fields({ ...GOOD, name })).toEqual(["name"]);
	});

	it("D30: scopes are a list of at least one of read, write and admin", () => {
		for (const scopes of ["read", "write", "admin"]) expect(fields({ ...GOOD, scopes: [scopes] })).toEqual([]);
		for (const scopes of [[], "read", {}, null, undefined]) expect(fields({ ...GOOD, scopes })).toEqual(["scopes"]);
		for (const scope of ["Read", "", "owner", 1, null])
			expect(fields({ ...GOOD, scopes: ["read", scope] })).toEqual(["scopes.1"]);
	});

	it("D30: endpoints are a list of at least one id: an empty one is not taken for all", () => {
		expect(fields({ ...GOOD, endpoints: ["x".repeat(64)] })).toEqual([]);
		for (const endpoints of [[], "a", {}, true]) expect(fields({ ...GOOD, endpoints })).toEqual(["endpoints"]);
		for (const id of ["", "a/b", "x".repeat(65), 7, null])
			expect(fields({ ...GOOD, endpoints: ["a", id] })).toEqual(["endpoints.1"]);
	});

	it("D30: an admin key cannot be limited to endpoints: it could make itself another", () => {
		const read = readKeyRequest({ name: "n", scopes: ["read", "admin"], endpoints: ["a"] }, NOW);
		expect(read).toEqual({
			ok: false,
			faults: [{ field: "endpoints", message: expect.stringContaining("cannot go with the scope admin") }],
		});
	});

	it("D30: expiresAt is a moment in the future", () => {
		expect(readKeyRequest({ ...GOOD, expiresAt: "2030-01-01T01:00:00.001+01:00" }, NOW)).toEqual({
			ok: true,
			request: { ...GOOD, expiresAt: NOW + 1 },
		});
		for (const expiresAt of ["2030-01-01T00:00:00Z", "2031-01-01", "2031-99-01T00:00:00Z", "", 7])
			expect(fields({ ...GOOD, expiresAt })).toEqual(["expiresAt"]);
	});

	it("D30: a rotation may have an expiry in the future, and nothing else", () => {
		for (const raw of [{}, { expiresAt: null }]) expect(readKeyRotation(raw, NOW)).toEqual({ ok: true, request: {} });
		const later = readKeyRotation({ expiresAt: "2030-01-01T00:00:01Z" }, NOW);
		expect(later).toEqual({ ok: true, request: { expiresAt: NOW + 1000 } });
		for (const raw of [{ overlapMs: 1 }, [], { expiresAt: "2029-12-31T23:59:59Z" }])
			expect(readKeyRotation(raw, NOW).ok).toBe(false);
	});

	it("D30: a misspelt member is a fault, so that no key is wider than was meant", () => {
		expect(fields({ ...GOOD, endpoint: ["a"] })).toEqual(["endpoint"]);
	});

	it("D2: all faults at once; a body that is no object is one", () => {
		expect(fields({ name: "", scopes: [], endpoints: [], x: 1 })).toEqual(["name", "scopes", "endpoints", "x"]);
		for (const raw of [null, undefined, [], "x", 7]) expect(fields(raw)).toEqual([""]);
	});
});
