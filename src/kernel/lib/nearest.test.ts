import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

it.each([
	["--statuss", "--status"],
	["--stauts", "--status"],
	["--limt", "--limit"],
	["--jsn", "--json"],
	["--frobnicate", undefined],
	["--x", undefined],
	["-", undefined],
	["--statusss".repeat(20), undefined],
])("D36: for %s it suggests %s", (word, meant) => {
	expect(nearest(word, ["--status", "--limit", "--json", "--help"])).toBe(meant);
});
