/** Draws the series of a soak as small multiples: an SVG for light and dark pages. */
import { medianOf, medians } from "./flatness.ts";
import { type Sample, type Series, seriesOf, short } from "./series.ts";

const COLUMNS = 2;
const [WIDTH, HEIGHT] = [430, 150];
/** Of the plot within its panel. */
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 26, 20];
const HEAD = 30;
const COLOURS = ["#2563eb", "#c2410c", "#059669"];

/** Most points of a line. */
const POINTS = 180;

/** The highest values, which are cut off where all others are far below. */
const SHOWN_PART = 0.985;

const STYLE =
	"text{font:11px system-ui,sans-serif;fill:#374151}.title{font-weight:600}" +
	".grid{stroke:#9ca3af55}.fault{stroke:#9ca3af88;stroke-dasharray:2 3}" +
	"@media(prefers-color-scheme:dark){text{fill:#d1d5db}}";

export function chart(title: string, samples: readonly Sample[]): string {
	const panels = [...Map.groupBy(seriesOf(samples), ({ panel }) => panel)];
	const end = samples.at(-1)?.at ?? 1;
	const faults = samples.filter((each, n) => each.kills > (samples[n - 1]?.kills ?? 0));
	const rows = Math.ceil(panels.length / COLUMNS);
	const [width, height] = [COLUMNS * WIDTH, HEAD + rows * HEIGHT + 18];
	const drawn = panels.map(([name, series], index) => {
		const [x, y] = [(index % COLUMNS) * WIDTH, HEAD + Math.floor(index / COLUMNS) * HEIGHT];
		const inside = panel(name, series, { end, faults: faults.map(({ at }) => at), id: index });
		return `<g transform="translate(${x} ${y})">${inside}</g>`;
	});
	const note = "Minutes since the start. Dotted: a server was killed. Medians of equal spans of time.";
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">`,
		`<style>${STYLE}</style>`,
		text(0, 16, title, 'class="title" style="font-size:13px"'),
		...drawn,
		text(0, height - 4, note),
		"</svg>",
		"",
	].join("\n");
}

interface Frame {
	end: number;
	faults: readonly number[];
	id: number;
}

function panel(name: string, series: readonly Series[], { end, faults, id }: Frame): string {
	const lines = series.map(({ points }) => medians(points, Math.max(1, end / POINTS)));
	const values = lines.flat().map(({ value }) => value);
	const shown = values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * SHOWN_PART)]!;
	const most = roundUp(shown);
	const x = (at: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * at) / end;
	const y = (value: number): number => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / most;
	const grid = [0, most / 2, most].map(
		(value) =>
			`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>` +
			text(LEFT - 6, y(value) + 4, short(value), 'text-anchor="end"'),
	);
	const minutes = ticks(end / 60).map((minute) =>
		text(x(minute * 60), HEIGHT - 6, String(minute), 'text-anchor="middle"'),
	);
	const marks = faults.map(
		(at) => `<line class="fault" x1="${px(x(at))}" x2="${px(x(at))}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`,
	);
	const paths = lines.map((points, n) => {
		const way = points.map(({ at, value }) => `${px(x(at))} ${px(y(value))}`).join("L");
		const stroke = COLOURS[n % COLOURS.length]!;
		return `<path d="M${way}" fill="none" stroke="${stroke}" stroke-width="1.5"/>`;
	});
	const unit = series[0]!.unit;
	const legend = series.map((each, n) => {
		const middle = short(medianOf(each.points.map(({ value }) => value)));
		const label = `${series.length > 1 ? `${each.name} ` : "median "}${middle}`;
		const at = WIDTH - RIGHT - (series.length - 1 - n) * 92;
		return text(at, 14, label, `text-anchor="end" style="fill:${COLOURS[n % COLOURS.length]}"`);
	});
	const clip = `<clipPath id="plot${id}"><rect x="${LEFT}" y="${TOP}" width="${WIDTH}" height="${HEIGHT}"/></clipPath>`;
	return [
		clip,
		text(0, 14, `${name}${unit === "" ? "" : `, ${unit}`}`, 'class="title"'),
		...legend,
		...grid,
		...minutes,
		...marks,
		`<g clip-path="url(#plot${id})">${paths.join("")}</g>`,
	].join("");
}

function text(x: number, y: number, words: string, rest = ""): string {
	return `<text x="${px(x)}" y="${px(y)}" ${rest}>${words}</text>`;
}

function px(value: number): string {
	return String(Math.round(value * 10) / 10);
}

/** The next of 1, 2, 4, 6, 8 or 10 times a power of ten. */
function roundUp(value: number): number {
	if (!(value > 0)) return 1;
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 4, 6, 8, 10].find((step) => step * power >= value)! * power;
}

/** Up to seven round numbers from 0. */
function ticks(most: number): number[] {
	const step = roundUp(most / 6);
	return Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => n * step);
}
