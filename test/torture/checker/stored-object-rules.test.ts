/** The rules on objects and uploads of S3 clients (D59): each planted bug is found, and what may happen is none. */
import { describe, expect, it } from "vitest";
import type { Members } from "../history.ts";
import { checker } from "./checker.ts";
import { history, rulesOf } from "./made-history.ts";

type Made = ReturnType<typeof history>;

const object = "s3 shared/k";
const unknown = { result: "unknown" as const };
const valueOf = (name: string): Members => ({ content: name, range: `${name} part`, etag: `${name} md5`, bytes: "9" });

const put = (made: Made, name: string, more: object = {}): Made =>
	made.add("change", { object, how: "put", sets: valueOf(name), ...more });
const create = (made: Made, name: string, more: object = {}): Made => put(made, name, { how: "create", ...more });
const remove = (made: Made, more: object = {}): Made => put(made, "", { how: "delete", sets: {}, ...more });
const shown = (made: Made, members: Members, more: object = {}): Made =>
	made.add("shown", { object, members, ...more });
const read = (made: Made, name: string, more: object = {}): Made => {
	const { content, etag } = valueOf(name);
	return shown(made, { content: content!, etag: etag! }, more);
};
const listed = (made: Made, name: string): Made => shown(made, { etag: `${name} md5`, bytes: "9" }, { how: "list" });
const missing = (made: Made, more: object = {}): Made => made.add("shown", { object, missing: true, ...more });
const refused = (made: Made, more: object = {}): Made => shown(made, {}, { how: "condition", ...more });

const stored = (): Made => put(history(), "a");
const replaced = (): Made => put(stored(), "b");

describe("the checker finds", () => {
	it.each<[string, string, Made]>([
		["object-kept", "an acknowledged object that is missing", missing(stored())],
		["object-kept", "an acknowledged object whose put was lost", read(replaced(), "a")],
		["object-kept", "a deleted object that comes back", read(remove(stored()), "a")],
		["object-kept", "one that a put without an answer brings back", read(put(stored(), "b"), "a")],
		["object-whole", "half an object", shown(stored(), { content: "half", etag: "a md5" })],
		["object-whole", "half an object of a put without an answer", read(put(history(), "a", unknown), "half")],
		["object-whole", "a range of no object", shown(stored(), { range: "b part", etag: "a md5" })],
		["object-whole", "the object of a refused put", read(put(stored(), "b", { result: "fail" }), "b")],
		["object-etag", "a mixture of two puts", shown(replaced(), { content: "b", etag: "a md5" })],
		["object-etag", "an answer with another ETag", shown(stored(), { etag: "other" })],
		["object-condition", "a conditional put where an object is", create(stored(), "b")],
		["object-condition", "two conditional puts", create(create(history(), "a"), "b")],
		["object-condition", "a conditional put refused where nothing was ever put", refused(history())],
		["object-condition", "one refused after a deletion", refused(remove(stored()))],
		["object-list", "a list without an object", missing(stored(), { how: "list" })],
		["object-list", "a list with a deleted object", listed(remove(stored()), "a")],
		["object-list", "a list with an earlier object", listed(replaced(), "a")],
		["object-list", "a list with what was never put", listed(stored(), "b")],
	])("%s: %s", (rule, _, made) => {
		expect(rulesOf(made)).toContain(rule);
	});
});

const upload = "u";
const part = (made: Made, number: number, etag: string, more: object = {}): Made =>
	made.add("upload", { object, upload, how: "part", parts: [[number, etag]], ...more });
const sent = (): Made => part(part(history(), 1, "p"), 2, "q");
const PARTS: [number, string][] = [
	[1, "p"],
	[2, "q"],
];
const complete = (made: Made, more: object = {}, parts = PARTS): Made => {
	const done = made.add("upload", { object, upload, how: "complete", parts, ...more });
	return put(done, "a", { upload, ...more });
};
const abort = (made: Made, more: object = {}): Made => made.add("upload", { object, upload, how: "abort", ...more });
const inList = (made: Made, more: object = {}): Made => made.add("upload", { object, upload, how: "listed", ...more });

const failed = (error: string) => ({ result: "fail" as const, error });
const GONE = failed("NoSuchUpload");
const BAD_PART = failed("InvalidPart");

describe("the checker finds of uploads", () => {
	it.each<[string, string, Made]>([
		["object-kept", "a completed one that is missing", missing(complete(sent()))],
		["object-whole", "a completed one without a part", shown(complete(sent()), { content: "p", etag: "a md5" })],
		["upload-kept", "one that is missing before its completion", complete(sent(), GONE)],
		["upload-kept", "one that is missing while parts are sent", part(sent(), 3, "r", GONE)],
		["upload-kept", "an acknowledged part that is missing", complete(sent(), BAD_PART)],
		[
			"upload-kept",
			"an acknowledged part that did not replace another",
			complete(part(sent(), 2, "r"), BAD_PART, [
				[1, "p"],
				[2, "r"],
			]),
		],
		["upload-kept", "a repeated completion that is refused", complete(complete(sent()), GONE)],
		["upload-hidden", "an aborted one that is completed", complete(abort(sent()))],
		["upload-hidden", "one that is completed and aborted", abort(complete(sent()))],
		["upload-hidden", "an aborted one that takes a part", part(abort(sent()), 3, "r")],
		["upload-hidden", "a completed one that takes a part", part(complete(sent()), 3, "r")],
		["upload-hidden", "an aborted one that is listed", inList(abort(sent()))],
		["upload-hidden", "an aborted one that is an object", read(complete(abort(sent()), unknown), "a")],
	])("%s: %s", (rule, _, made) => {
		expect(rulesOf(made)).toContain(rule);
	});
});

it.each<[string, Made]>([
	[
		"an object that is read, listed, overwritten and deleted",
		missing(remove(read(put(listed(stored(), "a"), "b"), "b"))),
	],
	["either of two puts at once", read(put(put(history(), "a", { at: 100 }), "b", { at: 105 }), "a")],
	["a put without an answer that was made", read(put(stored(), "b", unknown), "b")],
	["one that was not made", read(put(stored(), "b", unknown), "a")],
	["a conditional put after a deletion", read(create(remove(stored()), "b"), "b")],
	["a conditional put while the object is put", create(put(history(), "a", { at: 100 }), "b", { at: 95 })],
	["a conditional put that is refused", refused(stored())],
	["one that is refused after a put without an answer", refused(put(history(), "a", unknown))],
	["a deletion without an answer", missing(remove(stored(), unknown))],
	["a completed upload, and its repetition", read(complete(complete(sent())), "a")],
	["a repetition that finds another object", complete(put(complete(sent()), "b"), GONE)],
	["a repetition of a completion without an answer", complete(complete(sent(), unknown), GONE)],
	["a repeated abort", abort(abort(sent()), GONE)],
	["an abort of a completed upload", abort(complete(sent()), GONE)],
	["what an aborted upload is asked for", complete(part(abort(sent()), 3, "r", GONE), GONE)],
	["a part that another one may have replaced", complete(part(sent(), 2, "r", unknown), BAD_PART)],
	["a part that was never acknowledged", complete(part(history(), 1, "p", unknown), BAD_PART, [[1, "p"]])],
	["an upload that is listed while it is aborted", inList(abort(sent(), { at: 100 }), { at: 105 })],
])("and nothing wrong with %s", (_, made) => {
	expect(rulesOf(made)).toEqual([]);
});

it("forgets what later puts replace, and uploads of which nothing is heard", () => {
	const checked = checker();
	for (const op of put(abort(sent()), "b").ops) checked.add(op);
	for (const op of put(history(), "c", { at: 500_000 }).ops) checked.add(op);
	checked.forget(1_000_000);
	expect(checked.violations).toEqual([]);
	// The last put.
	expect(checked.held).toBe(1);
	for (const op of missing(history(), { at: 2_000_000 }).ops) checked.add(op);
	expect(checked.finish().map(({ rule }) => rule)).toEqual(["object-kept"]);
});
