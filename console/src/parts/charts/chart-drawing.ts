/** How a chart is drawn: the options of uPlot, the time without values, the markers. */
import uPlot from "uplot";
import { MS_STEPS, isOpen, isolated, spanOf, timeOf } from "../../values/chart-values.ts";
import { now } from "../../client/clock.ts";
import { count, duration } from "../../text/format.ts";
import type { Series } from "../../client/shapes.ts";

export interface Line {
	name: string;
	/** Custom property of its colour, without the dashes. */
	tone: string;
	values: Series;
	dashed?: boolean;
}

/** Something that happened, drawn over the values. */
export interface Marker {
	/** Seconds since the epoch. */
	at: number;
	text: string;
	by: string;
}

/** Bars upon each other, lines, or lines that stay until the next value. */
export type ChartKind = "stacked" | "lines" | "stepped";

export const HEIGHT = 168;

/** Charts of a page show the same moment under the pointer. */
const together = uPlot.sync("charts");

/** uPlot's columns; stacked ones hold the sum up to their own, the last drawn lowest. */
export function aligned(times: readonly number[], lines: readonly Line[], kind: ChartKind): uPlot.AlignedData {
	if (kind !== "stacked") return [[...times], ...lines.map(({ values }) => [...values])];
	const sums = times.map(() => 0);
	return [
		[...times],
		...lines
			.map(({ values }) => values.map((value, index) => (value === null ? null : (sums[index]! += value))))
			.toReversed(),
	];
}

interface Drawing {
	place: HTMLElement;
	/** Seconds between two values. */
	step: number;
	lines: readonly Line[];
	kind: ChartKind;
	unit: "count" | "ms";
	markers: () => readonly Marker[];
	onMove: (index: number | undefined) => void;
	onZoom: (from: number, to: number) => void;
}

const AXIS_FONT = "11px system-ui, sans-serif";
/** Width of a character in that font, about, and the gap next to the labels. */
const [CHARACTER, GAP] = [6.4, 12];
/** Of the labels at the left; only longer ones than "500 ms" need more. */
const AXIS = 56;

export function options(drawing: Drawing): uPlot.Options {
	const { place, step, lines, kind, unit, onMove, onZoom } = drawing;
	const ink = colorOf(place, "text-3");
	const grid = { stroke: colorOf(place, "line"), width: 1 };
	const axis = { stroke: ink, grid, ticks: { show: false }, font: AXIS_FONT };
	const half = step / 2;
	const format = unit === "ms" ? duration : count;
	const drawn = kind === "stacked" ? lines.toReversed() : lines;
	return {
		width: place.clientWidth,
		height: HEIGHT,
		padding: [8, 16, 0, 0],
		legend: { show: false },
		cursor: {
			sync: { key: together.key },
			points: { size: 6 },
			// A drag selects; the selection is loaded, not scaled.
			drag: { x: true, y: false, setScale: false, dist: 8 },
			y: false,
		},
		scales: {
			x: { range: (_plot, low, high) => [low - half, high + half] },
			y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1) * 1.08] },
		},
		axes: [
			{
				...axis,
				size: 24,
				gap: 4,
				space: 64,
				values: ({ data: [times] }, splits) => splits.map((split) => timeOf(split, spanOf([...times]))),
			},
			{
				...axis,
				// The same in all charts of a page, so that the same moment stands below itself.
				size: (_plot, labels) => Math.max(AXIS, ...(labels ?? []).map((label) => label.length * CHARACTER + GAP)),
				gap: 4,
				space: 32,
				...(unit === "ms" ? { incrs: MS_STEPS } : {}),
				values: (_plot, splits) => splits.map((split) => (Number.isInteger(split) || split > 10 ? format(split) : "")),
			},
		],
		series: [{}, ...drawn.map((line) => seriesOf(line, { kind, color: colorOf(place, line.tone) }))],
		hooks: {
			setCursor: [({ cursor }) => onMove(cursor.idx ?? undefined)],
			setSelect: [
				(plot) => {
					const { left, width } = plot.select;
					if (width < 8) return;
					plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
					onZoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
				},
			],
			drawClear: [(plot) => drawUnknown(plot, place)],
			draw: [(plot) => drawOpen(plot, drawing), (plot) => drawMarkers(plot, drawing)],
		},
	};
}

function seriesOf({ name, dashed }: Line, { kind, color }: { kind: ChartKind; color: string }): uPlot.Series {
	const { bars, stepped } = uPlot.paths;
	if (kind === "stacked")
		return {
			label: name,
			stroke: color,
			fill: color,
			width: 0,
			points: { show: false },
			...(bars ? { paths: bars({ size: [0.8, 14], gap: 1 }) } : {}),
		};
	return {
		label: name,
		stroke: color,
		width: 1.5,
		spanGaps: false,
		points: {
			show: true,
			size: 5,
			fill: color,
			filter: (plot, index) => isolated(plot.data[index] as Series),
		},
		...(kind === "stepped" && stepped ? { paths: stepped({ align: 1 }) } : {}),
		...(dashed ? { dash: [4, 3] } : {}),
	};
}

/** Shades the time before the first value. */
function drawUnknown({ ctx, bbox, data, valToPos }: uPlot, place: HTMLElement): void {
	const [times, ...columns] = data;
	const first = times.findIndex((_, index) => columns.some((values) => (values[index] ?? null) !== null));
	if (first <= 0) return;
	ctx.save();
	ctx.fillStyle = colorOf(place, "sunk");
	ctx.fillRect(bbox.left, bbox.top, valToPos(times[first]!, "x", true) - bbox.left, bbox.height);
	ctx.restore();
}

/** Lightens the bars of a step that is not over: they still grow. */
function drawOpen({ ctx, bbox, data: [times], valToPos }: uPlot, { place, kind, step }: Drawing): void {
	const last = times.at(-1);
	if (kind !== "stacked" || last === undefined || !isOpen(last, step, now())) return;
	const left = valToPos(last - step / 2, "x", true);
	ctx.save();
	ctx.globalAlpha = 0.6;
	ctx.fillStyle = colorOf(place, "card");
	ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
	ctx.restore();
}

/** A dashed line for each marker. */
function drawMarkers({ ctx, bbox, valToPos }: uPlot, { place, markers }: Drawing): void {
	ctx.save();
	ctx.strokeStyle = colorOf(place, "accent");
	ctx.lineWidth = devicePixelRatio;
	ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
	for (const { at } of markers()) {
		const x = Math.round(valToPos(at, "x", true));
		if (x < bbox.left || x > bbox.left + bbox.width) continue;
		ctx.beginPath();
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
		ctx.stroke();
	}
	ctx.restore();
}

/** A colour of the theme as a canvas takes it. */
function colorOf(place: HTMLElement, tone: string): string {
	const probe = document.createElement("span");
	probe.style.color = `var(--${tone})`;
	place.append(probe);
	const { color } = getComputedStyle(probe);
	probe.remove();
	return color;
}
