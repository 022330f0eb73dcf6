/**
 * A chart over time, on a canvas (uPlot). Its legend shows the last values, or those under the
 * pointer; its accessible name contains them too.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { MS_STEPS, isolated, lastOf, spanOf, timeOf } from "../chart-values.ts";
import { count, duration } from "../format.ts";
import type { Series } from "../shapes.ts";
import { T } from "../text.ts";
import { useShade } from "../theme.ts";

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
type ChartKind = "stacked" | "lines" | "stepped";

interface ChartProps {
	title: string;
	/** Seconds since the epoch, one for each value. */
	times: readonly number[];
	lines: readonly Line[];
	markers?: readonly Marker[];
	unit?: "count" | "ms";
	kind?: ChartKind;
	/** A part was selected; ms since the epoch. */
	zoom?: (from: number, to: number) => void;
}

const HEIGHT = 168;

/** Charts of a page show the same moment under the pointer. */
const together = uPlot.sync("charts");

const NO_MARKERS: readonly Marker[] = [];

export function Chart({
	title,
	times,
	lines,
	markers = NO_MARKERS,
	unit = "count",
	kind = "lines",
	zoom,
}: ChartProps): ReactNode {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | undefined>(undefined);
	const shade = useShade();
	const [at, setAt] = useState<number | undefined>(undefined);
	const format = unit === "ms" ? duration : count;
	const shape = lines.map(({ name, tone }) => `${name} ${tone}`).join();
	const step = (times[1] ?? 0) - (times[0] ?? 0);
	const data = useMemo(() => aligned(times, lines, kind), [times, lines, kind]);
	const onZoom = useEffectEvent((from: number, to: number) => zoom?.(from * 1000, to * 1000));
	const shownMarkers = useEffectEvent(() => markers);

	useEffect(() => {
		const place = box.current!;
		const made = new uPlot(
			options({
				place,
				step,
				lines,
				kind,
				unit,
				markers: () => shownMarkers(),
				onMove: setAt,
				onZoom: (from, to) => onZoom(from, to),
			}),
			data,
			place,
		);
		plot.current = made;
		const size = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
		size.observe(place);
		return () => {
			size.disconnect();
			made.destroy();
			plot.current = undefined;
		};
		// Created again for other lines and colours only; new values are set below.
		// oxlint-disable-next-line react/exhaustive-deps
	}, [shape, step, kind, unit, shade]);

	useEffect(() => plot.current?.setData(data), [data]);
	useEffect(() => plot.current?.redraw(false), [markers]);

	const index = at !== undefined && at < times.length ? at : undefined;
	const shown = lines.map(({ name, tone, values }) => ({
		name,
		tone,
		text: valueText(index === undefined ? lastOf(values, unit) : values[index], format),
	}));
	const time = index === undefined ? "" : timeOf(times[index]!, spanOf(times));
	const texts = shown.map(({ name, text }) => `${name} ${text}`).join(", ");
	/** Arrow keys move the moment that all charts show. */
	const onKeyDown = (event: KeyboardEvent): void => {
		const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
		if (move === undefined || !plot.current || times.length === 0) return;
		event.preventDefault();
		const to = Math.min(times.length - 1, Math.max(0, (index ?? times.length) + move));
		const { setCursor } = plot.current as unknown as { setCursor: MoveCursor };
		setCursor({ left: plot.current.valToPos(times[to]!, "x"), top: 10 }, true, true);
	};
	return (
		<figure className="chart">
			<figcaption>
				<span className="chart-title">{title}</span>
				<span className="chart-at">{time}</span>
				<ul className="legend">
					{shown.map(({ name, tone, text }) => (
						<li key={name}>
							<i className={`swatch ${tone}`} /> {name} <b>{text}</b>
						</li>
					))}
				</ul>
			</figcaption>
			<div
				className="plot"
				ref={box}
				role="slider"
				tabIndex={0}
				aria-label={title}
				aria-valuemin={0}
				aria-valuemax={Math.max(0, times.length - 1)}
				aria-valuenow={index ?? Math.max(0, times.length - 1)}
				aria-valuetext={`${time || T.chart.now}: ${texts}.`}
				onKeyDown={onKeyDown}
			/>
		</figure>
	);
}

/** As uPlot has it: its types lack that other charts follow. */
type MoveCursor = (at: { left: number; top: number }, fire: boolean, publish: boolean) => void;

function valueText(value: number | null | undefined, format: (value: number) => string): string {
	return value === null || value === undefined ? "–" : format(value);
}

/** uPlot's columns; stacked ones hold the sum up to their own, the last drawn lowest. */
function aligned(times: readonly number[], lines: readonly Line[], kind: ChartKind): uPlot.AlignedData {
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
/** Width of a character in that font, about, and the gap beside the labels. */
const [CHARACTER, GAP] = [6.4, 12];

function options(drawing: Drawing): uPlot.Options {
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
				size: (_plot, labels) => Math.max(40, ...(labels ?? []).map((label) => label.length * CHARACTER + GAP)),
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
			draw: [(plot) => drawMarkers(plot, drawing)],
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
