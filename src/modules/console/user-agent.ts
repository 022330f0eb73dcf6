/** Short browser names that distinguish sessions for display. Never used for decisions. */

/** Order matters: most browsers also name those after them. */
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

const LONGEST = 60;

/** "Firefox 140 on Linux" or "curl/8.14.1". "" when nothing is said. */
export function clientOf(userAgent: string | undefined): string {
	if (userAgent === undefined) return "";
	for (const [pattern, name] of BROWSERS) {
		const version = pattern.exec(userAgent)?.[1];
		if (version === undefined) continue;
		const system = SYSTEMS.find(([sign]) => sign.test(userAgent))?.[1];
		return `${name} ${version.slice(0, 4)}${system === undefined ? "" : ` on ${system}`}`;
	}
	// A Latin-1 header may hold characters that no terminal should get.
	return (/^[\x21-\x7e]+/.exec(userAgent)?.[0] ?? "").slice(0, LONGEST);
}
