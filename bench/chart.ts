/** Draws docs/images/benchmarks.svg from bench/results/history.json: `node bench/chart.ts`. */
import { readFileSync, writeFileSync } from "node:fs";

/** One figure: the ratio to the echo server; without a median only its range is known. */
interface Figure {
	date: string;
	state: string;
	machine: string;
	bench: "runsync" | "submit";
	median?: number;
	low: number;
	high: number;
}

const WIDTH = 760;
const HEIGHT = 360;
const LEFT = 48;
const TOP = 24;
const BOTTOM = HEIGHT - 76;
const MOST = 0.6;
const COLOURS = { runsync: "#2563eb", submit: "#c2410c" } as const;
const NAMES = { runsync: "/runsync", submit: "/run" } as const;

const history: Figure[] = JSON.parse(readFileSync(new URL("results/history.json", import.meta.url), "utf8"));
const states = [...new Set(history.map(({ state }) => state))];
const column = (WIDTH - LEFT) / states.length;
const y = (ratio: number): number => BOTTOM - ((BOTTOM - TOP) * ratio) / MOST;
const text = (x: number, at: number, words: string, rest = ""): string =>
	`<text x="${x}" y="${at}" ${rest}>${words}</text>`;

const grid = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6].flatMap((ratio) => [
	`<line x1="${LEFT}" x2="${WIDTH}" y1="${y(ratio)}" y2="${y(ratio)}" stroke="#9ca3af55"/>`,
	text(LEFT - 8, y(ratio) + 4, ratio.toFixed(1), 'text-anchor="end"'),
]);

const bars = history.map(({ state, bench, median, low, high }) => {
	const x = LEFT + column * (states.indexOf(state) + (bench === "runsync" ? 0.35 : 0.65));
	const colour = COLOURS[bench];
	const ends = `x1="${x}" x2="${x}" y1="${y(low)}" y2="${y(high)}"`;
	const range = `<line ${ends} stroke="${colour}" stroke-width="6" stroke-opacity="0.4"/>`;
	const dot = median && `<circle cx="${x}" cy="${y(median)}" r="5" fill="${colour}"/>`;
	const words = median ? median.toFixed(3) : `${low} to ${high}`;
	return `${range}${dot ?? ""}${text(x, y(high) - 8, words, 'text-anchor="middle"')}`;
});

const labels = states.map((state, index) => {
	const x = LEFT + column * (index + 0.5);
	const { date, machine } = history.find((figure) => figure.state === state)!;
	const [name, pages = ""] = state.split(/(?= \()/);
	return [name!, pages.trim(), `${date}, ${machine}`]
		.map((line, row) => text(x, BOTTOM + 20 + 16 * row, line, 'text-anchor="middle"'))
		.join("");
});

const legend = (["runsync", "submit"] as const).map((bench, index) =>
	text(LEFT + 12 + 90 * index, TOP - 8, `● ${NAMES[bench]}`, `style="fill:${COLOURS[bench]}"`),
);

const lines = [
	`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
	"<style>text{font:12px sans-serif;fill:#6b7280}</style>",
	...grid,
	...bars,
	...labels,
	...legend,
	"</svg>",
];
writeFileSync(new URL("../docs/images/benchmarks.svg", import.meta.url), `${lines.join("\n")}\n`);
