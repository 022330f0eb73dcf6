/** The seal of `s3Config`: opens what it closed, nothing else. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encryption } from "./encryption.ts";

const KEY = new Uint8Array(32).fill(7);
const sealing = encryption(KEY, randomBytes);

function opened(found: ReturnType<typeof sealing.decrypt>): string | undefined {
	return found.ok ? found.text : undefined;
}

describe("seal", () => {
	it("D22: opens any text it closed, byte for byte", () => {
		fc.assert(
			fc.property(
				fc.string({ unit: "grapheme" }),
				(text) => opened(sealing.decrypt(sealing.encrypt(text))) === text,
			),
		);
	});

	it("D22: the text cannot be seen in it, and two closings of one text differ", () => {
		const text = "the secret access key of the storage";
		const [one, two] = [sealing.encrypt(text), sealing.encrypt(text)];
		expect(Buffer.from(one, "base64").toString("latin1")).not.toContain("secret");
		expect(one).not.toBe(two);
	});

	it("D22: another key does not open it", () => {
		expect(
			encryption(new Uint8Array(32).fill(8), randomBytes).decrypt(sealing.encrypt("x")),
		).toEqual({
			ok: false,
		});
	});

	it("D22: a change of any byte is noticed", () => {
		const closed = Buffer.from(sealing.encrypt("abc"), "base64");
		for (let at = 0; at < closed.length; at += 1) {
			const changed = Buffer.from(closed);
			changed[at]! ^= 1;
			expect(sealing.decrypt(changed.toString("base64")), `byte ${at}`).toEqual({ ok: false });
		}
	});

	it.each(["", "AAAA", "not base64!"])("D22: %j does not open", (text) => {
		expect(sealing.decrypt(text)).toEqual({ ok: false });
	});
});
