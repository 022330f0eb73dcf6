/** The seal of `s3Config`: opens what it closed, nothing else. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encryption, keyId } from "./encryption.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER = new Uint8Array(32).fill(8);
const sealing = encryption([KEY], randomBytes);

/** Characters before the base64: version and key id. */
const PREFIX = "1.12345678.".length;

function opened(found: ReturnType<typeof sealing.decrypt>): string | undefined {
	return found.ok ? found.text : undefined;
}

describe("seal", () => {
	it("D22: opens any text it closed, byte for byte", () => {
		fc.assert(
			fc.property(fc.string({ unit: "grapheme" }), (text) => opened(sealing.decrypt(sealing.encrypt(text))) === text),
		);
	});

	it("D22: the text cannot be seen in it, and two closings of one text differ", () => {
		const text = "the secret access key of the storage";
		const [one, two] = [sealing.encrypt(text), sealing.encrypt(text)];
		expect(Buffer.from(one.slice(PREFIX), "base64").toString("latin1")).not.toContain("secret");
		expect(one).not.toBe(two);
	});

	it("D22: another key does not open it", () => {
		expect(encryption([OTHER], randomBytes).decrypt(sealing.encrypt("x"))).toEqual({
			ok: false,
		});
	});

	it("D22: a change of any byte is noticed", () => {
		const text = sealing.encrypt("abc");
		const closed = Buffer.from(text.slice(PREFIX), "base64");
		for (let at = 0; at < closed.length; at += 1) {
			const changed = Buffer.from(closed);
			changed[at]! ^= 1;
			expect(sealing.decrypt(text.slice(0, PREFIX) + changed.toString("base64")), `byte ${at}`).toEqual({ ok: false });
		}
	});

	it("D22: names its key", () => {
		const text = sealing.encrypt("abc");
		expect(text.slice(0, PREFIX)).toBe(`1.${keyId(KEY)}.`);
		expect(sealing.isCurrent(text)).toBe(true);
		expect(sealing.decrypt(text.slice(PREFIX))).toEqual({ ok: false });
	});

	it("D22: texts of all keys of the ring open; the first one encrypts", () => {
		const old = sealing.encrypt("old");
		const both = encryption([OTHER, KEY], randomBytes);
		expect(opened(both.decrypt(old))).toBe("old");
		const fresh = both.encrypt("new");
		expect(both.isCurrent(fresh)).toBe(true);
		expect(both.isCurrent(old)).toBe(false);
		expect(sealing.decrypt(fresh)).toEqual({ ok: false });
		const after = encryption([OTHER], randomBytes);
		expect(opened(after.decrypt(fresh))).toBe("new");
		expect(after.decrypt(old)).toEqual({ ok: false });
	});

	it.each(["", "AAAA", "not base64!"])("D22: %j does not open", (text) => {
		expect(sealing.decrypt(text)).toEqual({ ok: false });
	});
});
