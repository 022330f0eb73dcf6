import { expect, it } from "vitest";
import { banner } from "./banner.ts";

it("D36: what a repository contains has no control characters in the banner", () => {
	const text = banner({
		url: "http://h:1",
		consoleLink: undefined,
		endpoint: "e",
		key: "k",
		what: "a\u001b]0;title\u0007.py",
		example: undefined,
		notes: ["Presets: \u001b[2JBig."],
	});
	expect(text).toContain("a?]0;title?.py");
	expect(text).toContain("Presets: ?[2JBig.");
});
