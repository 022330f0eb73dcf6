/** Values that belong to a worker, sealed with its handle. */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { encryption } from "../../../secrets/encryption.ts";
import { hiddenIn, hiddenMember, resealHandle, shownOutput, shownText } from "./shown-text.ts";

const [old, current] = [randomBytes(32), randomBytes(32)];
const before = encryption([old], randomBytes);
const both = encryption([current, old], randomBytes);
const after = encryption([current], randomBytes);

const VALUES = { TOKEN: "a-token-of-before" };

it("D22, D47: what a worker was started with is in its handle, sealed, and is not known with another key", () => {
	const handle = hiddenMember(VALUES, before);
	expect(JSON.stringify(handle)).not.toContain("a-token");
	expect(hiddenIn(handle, both)).toEqual(VALUES);
	expect(hiddenIn(handle, after)).toBeUndefined();
	expect(hiddenIn({ pid: 1 }, before)).toBeUndefined();
	const said = "used a-token-of-before";
	expect([VALUES, undefined].map((hidden) => shownOutput({ hidden }, said))).toEqual(["used [TOKEN]", ""]);
	expect(shownText({ hidden: undefined }, said)).toMatch(/^what it said is not shown/);
});

it("D22: a handle is sealed again with the current key, once, and nothing else of it changes", () => {
	const text = JSON.stringify({ pid: 1, ...hiddenMember(VALUES, before), sluiceGpus: "1" });
	const sealed = resealHandle(text, both);
	expect(hiddenIn(JSON.parse(sealed) as object as Record<string, string>, after)).toEqual(VALUES);
	expect(JSON.parse(sealed)).toMatchObject({ pid: 1, sluiceGpus: "1" });
	expect(resealHandle(sealed, both)).toBe(sealed);
	for (const each of ['{"pid":1}', text]) expect(resealHandle(each, after)).toBe(each);
});
