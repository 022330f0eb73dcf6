/** What a browser calls itself, in a few words: to tell sessions apart, never to decide anything. */

/** In this order: most browsers also name those after them. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
	[/\bEdgA?\/(\d+)/, "Edge"],
	[/\bOPR\/(\d+)/, "Opera"],
	[/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
	[/\b(?:Chrome|CriOS|Chromium|HeadlessChrome)\/(\d+)/, "Chrome"],
	[/\bVersion\/(\d+)(?:\.[\d.]*)? (?:Mobile\/\w+ )?Safari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
	[/\b(?:iPhone|iPad|iPod)\b/, "iOS"],
	[/\bAndroid\b/, "Android"],
	[/\bWindows\b/, "Windows"],
	[/\bMac OS X\b/, "macOS"],
	[/\bCrOS\b/, "ChromeOS"],
	[/\bLinux\b/, "Linux"],
];

/** Characters of the name of another program. */
const LONGEST = 60;

/** "Firefox 140 on Linux", "curl/8.14.1"; "" when nothing is said. */
export function clientOf(userAgent: string | undefined): string {
	if (userAgent === undefined) return "";
	for (const [pattern, name] of BROWSERS) {
		const version = pattern.exec(userAgent)?.[1];
		if (version === undefined) continue;
		const system = SYSTEMS.find(([sign]) => sign.test(userAgent))?.[1];
		return `${name} ${version.slice(0, 4)}${system === undefined ? "" : ` on ${system}`}`;
	}
	// Latin-1 of a header may hold characters that no terminal should get.
	return (/^[\x21-\x7e]+/.exec(userAgent)?.[0] ?? "").slice(0, LONGEST);
}
