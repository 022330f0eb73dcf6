/** Versions of the SDK that are known to err. */
import { expect, it } from "vitest";
import { sdkWarning } from "./sdk-version.ts";

it.each([
	["1.7.10", false],
	["1.7.11", true],
	["1.7.13", true],
	["1.9.1", true],
	["1.10.0", true],
	["1.10.1", false],
	["1.12.0", false],
	["2.0.0", false],
	["0.9.12", false],
	["1.8", false],
	["1.8.0.dev3", false],
	["sluice", false],
])("D16: version %s, warned of: %s", (version, warned) => {
	const warning = sdkWarning(version);
	expect(warning !== undefined).toBe(warned);
	if (warning !== undefined) expect(warning).toMatch(new RegExp(`^SDK ${version} .*\\.$`));
});
