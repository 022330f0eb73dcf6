/** Draws figures of one unit: a bar to each median, a line for its range, grey ones for before. */
import type { Figure } from "./suite.ts";
import { digits, withRange } from "./results.ts";

const WIDTH = 880;
const LABEL = 420;
const ROW = 34;
const TOP = 36;

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** An SVG for light and dark pages. `before`: the same figures of another commit. */
export function bars(title: string, figures: readonly Figure[], before: readonly Figure[], caption: string): string {
	const old = new Map(before.map((figure) => [figure.name, figure]));
	const most = Math.max(...figures.flatMap(({ name, high, target = 0 }) => [high, target, old.get(name)?.high ?? 0]));
	const room = WIDTH - LABEL - 150;
	const x = (value: number): number => LABEL + (room * value) / most;
	const height = TOP + figures.length * ROW + 28;
	const bar = (q: { y: number; value: number; height: number; fill: string }): string =>
		`<rect x="${LABEL}" y="${q.y}" width="${x(q.value) - LABEL}" height="${q.height}" rx="2" ` + `fill="${q.fill}"/>`;
	const line = (q: { from: number; to: number; y: [number, number]; stroke: string }): string =>
		`<line x1="${x(q.from)}" x2="${x(q.to)}" y1="${q.y[0]}" y2="${q.y[1]}" stroke="${q.stroke}" ` +
		'stroke-width="3"/>';
	const rows = figures.flatMap((figure, index) => {
		const { name, low, high, median, target } = figure;
		const y = TOP + index * ROW;
		const was = old.get(name);
		const label = withRange(figure) + (was ? `, was ${digits(was.median)}` : "");
		const end = x(Math.max(high, target ?? 0)) + 8;
		return [
			`<text x="${LABEL - 10}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
			bar({ y: y + 4, value: median, height: 14, fill: "#2563eb" }),
			line({ from: low, to: high, y: [y + 11, y + 11], stroke: "#93c5fd" }),
			was ? bar({ y: y + 20, value: was.median, height: 5, fill: "#9ca3af" }) : "",
			target === undefined ? "" : line({ from: target, to: target, y: [y + 1, y + 21], stroke: "#c2410c" }),
			`<text x="${end}" y="${y + 15}">${label}</text>`,
		];
	});
	const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escape(title)}">`,
		"<style>text{font:12px system-ui,sans-serif;fill:#374151}",
		"@media(prefers-color-scheme:dark){text{fill:#d1d5db}}</style>",
		`<text x="0" y="16" style="font-weight:600">${escape(title)}</text>`,
		...rows.filter((row) => row !== ""),
		`<text x="0" y="${height - 8}" style="font-size:11px">${escape(caption)}</text>`,
		"</svg>",
		"",
	].join("\n");
}
