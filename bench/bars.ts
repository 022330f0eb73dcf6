/** Draws figures of one unit: a bar to each median, a line for its range, grey ones for before. */
import type { Figure } from "./suite.ts";
import { digits, withRange } from "./results.ts";

const WIDTH = 760;
const LABEL = 330;
const ROW = 34;
const TOP = 36;

const escape = (text: string): string =>
	text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** An SVG for light and dark pages. `before`: the same figures of another commit. */
export function bars(
	title: string,
	figures: readonly Figure[],
	before: readonly Figure[],
	caption: string,
): string {
	const old = new Map(before.map((figure) => [figure.name, figure]));
	const most = Math.max(
		...figures.flatMap(({ name, high, target = 0 }) => [high, target, old.get(name)?.high ?? 0]),
	);
	const room = WIDTH - LABEL - 150;
	const x = (value: number): number => LABEL + (room * value) / most;
	const height = TOP + figures.length * ROW + 28;
	const rows = figures.flatMap((figure, index) => {
		const y = TOP + index * ROW;
		const was = old.get(figure.name);
		return [
			`<text x="${LABEL - 10}" y="${y + 15}" text-anchor="end">${escape(figure.name)}</text>`,
			`<rect x="${LABEL}" y="${y + 4}" width="${x(figure.median) - LABEL}" height="14" rx="2" fill="#2563eb"/>`,
			`<line x1="${x(figure.low)}" x2="${x(figure.high)}" y1="${y + 11}" y2="${y + 11}" stroke="#93c5fd" stroke-width="3"/>`,
			...(was
				? [
						`<rect x="${LABEL}" y="${y + 20}" width="${x(was.median) - LABEL}" height="5" rx="2" fill="#9ca3af"/>`,
					]
				: []),
			...(figure.target === undefined
				? []
				: [
						`<line x1="${x(figure.target)}" x2="${x(figure.target)}" y1="${y + 1}" y2="${y + 21}" stroke="#c2410c" stroke-width="2"/>`,
					]),
			`<text x="${x(Math.max(figure.high, figure.target ?? 0)) + 8}" y="${y + 15}">${withRange(figure)}${was ? `, was ${digits(was.median)}` : ""}</text>`,
		];
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}">`,
		"<style>text{font:12px system-ui,sans-serif;fill:#374151}@media(prefers-color-scheme:dark){text{fill:#d1d5db}}</style>",
		`<text x="0" y="16" style="font-weight:600">${escape(title)}</text>`,
		...rows,
		`<text x="0" y="${height - 8}" style="font-size:11px">${escape(caption)}</text>`,
		"</svg>",
		"",
	].join("\n");
}
