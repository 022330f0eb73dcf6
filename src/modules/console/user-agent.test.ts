/** Names of browsers and programs in the list of sessions (D31). */
import { expect, it } from "vitest";
import { clientOf } from "./user-agent.ts";

const WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

it.each([
	[`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`, "Chrome 140 on Linux"],
	[`Mozilla/5.0 (Windows NT 10.0) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/141.0.1.2`, "Edge 141 on Windows"],
	["Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", "Firefox 143 on Linux"],
	[
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605.1.15 (KHTML) Version/26.0 Safari/605.1.15",
		"Safari 26 on macOS",
	],
	[
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1",
		"Safari 19 on iOS",
	],
	[`Mozilla/5.0 (Linux; Android 15) ${WEBKIT} Chrome/140.0 Mobile Safari/537.36`, "Chrome 140 on Android"],
	["curl/8.14.1", "curl/8.14.1"],
	["node", "node"],
	[`x${"y".repeat(100)} z`, `x${"y".repeat(59)}`],
	["\u009b31m", ""],
	["", ""],
	[undefined, ""],
])("D31: %j is %j", (userAgent, name) => {
	expect(clientOf(userAgent)).toBe(name);
});
