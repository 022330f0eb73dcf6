import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { encryption } from "../../../kernel/secrets/encryption.ts";
import { credentialsOf, epochOf, parseKeyId, secretsOf } from "./credentials.ts";

const [OLD, NEW] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
const before = encryption([OLD], randomBytes);
const both = encryption([NEW, OLD], randomBytes);

describe("D59: credentials", () => {
	it("differ by endpoint, epoch and secret of the service", () => {
		const all = [
			credentialsOf(before, "a", 1),
			credentialsOf(before, "a", 2),
			credentialsOf(before, "b", 1),
			credentialsOf(both, "a", 1),
		].map(({ secretKey }) => secretKey);
		expect(new Set(all).size).toBe(4);
		expect(credentialsOf(before, "a", 1)).toEqual({ keyId: "sluice-a-1", secretKey: all[0] });
	});

	it("those of the secret before are still accepted", () => {
		expect(secretsOf(both, "sluice-a-1")).toEqual([
			credentialsOf(both, "a", 1).secretKey,
			credentialsOf(before, "a", 1).secretKey,
		]);
	});

	it.each([
		["sluice-a-1", { endpoint: "a", epoch: 1 }],
		["sluice-a-b-2-31", { endpoint: "a-b-2", epoch: 31 }],
		["sluice-a-0", undefined],
		["sluice-a-01", undefined],
		["sluice--1", undefined],
		["sluice-a/b-1", undefined],
		["AKIAIOSFODNN7EXAMPLE", undefined],
	])("the key id %s", (keyId, parsed) => {
		expect(parseKeyId(keyId)).toEqual(parsed);
	});

	it("the epoch is that of the endpoint's setting", () => {
		expect(epochOf({ id: "a" } as Endpoint)).toBe(1);
		expect(epochOf({ id: "a", files: true } as unknown as Endpoint)).toBe(1);
		expect(epochOf({ id: "a", files: { epoch: 4 } } as unknown as Endpoint)).toBe(4);
	});
});
