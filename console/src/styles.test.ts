/** The rules of docs/console-design.md on space that can be read off the styles. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Px; 1 is the line between tiles. */
const SCALE = [0, 1, 2, 4, 8, 12, 16, 24];

describe("styles of the console", () => {
	it("gaps are of one scale", () => {
		const files = globSync("styles/*.css", { cwd: import.meta.dirname });
		expect(files.length).toBeGreaterThan(20);
		const others = files.flatMap((file) =>
			[...readFileSync(`${import.meta.dirname}/${file}`, "utf8").matchAll(/^\s*(?:(?:row|column)-)?gap: (.*);$/gm)]
				.filter(([, gap]) => gap!.split(" ").some((value) => !SCALE.includes(Number.parseInt(value, 10))))
				.map(([line]) => `${file}: ${line.trim()}`),
		);
		expect(others).toEqual([]);
	});
});
