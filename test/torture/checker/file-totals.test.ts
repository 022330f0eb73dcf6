/** The rule on totals of files: a total that its endpoint's files do not have is found (D56). */
import { expect, it } from "vitest";
import { history, rulesOf } from "./made-history.ts";

it.each([
	["bytes", { files: 0, bytes: 1 }],
	["a file", { files: 1, bytes: 0 }],
])("file-totals: an endpoint without files counts %s", (_, counted) => {
	const made = history()
		.endpoint()
		.add("file-totals", { endpoint: "e", counted, listed: { files: 0, bytes: 0 } });
	expect(rulesOf(made)).toEqual(["file-totals"]);
});

it("file-totals: an endpoint that counts what it lists has none", () => {
	const listed = { files: 2, bytes: 5 };
	expect(rulesOf(history().endpoint().add("file-totals", { endpoint: "e", counted: listed, listed }))).toEqual([]);
});
