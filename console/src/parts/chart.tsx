/**
 * A chart over time, on a canvas (uPlot). Its legend shows the last values, or those under the
 * pointer; its accessible name contains them too.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
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

interface ChartProps {
	title: string;
	/** Seconds since the epoch, one for each value. */
	times: readonly number[];
	lines: readonly Line[];
	unit?: "count" | "ms";
	/** Values stand upon each other. */
	stacked?: boolean;
}

const HEIGHT = 168;

/** Charts of a page show the same moment under the pointer. */
const together = uPlot.sync("charts");

export function Chart({
	title,
	times,
	lines,
	unit = "count",
	stacked = false,
}: ChartProps): ReactNode {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | undefined>(undefined);
	const shade = useShade();
	const [at, setAt] = useState<number | undefined>(undefined);
	const format = unit === "ms" ? duration : count;
	const shape = lines.map(({ name, tone }) => `${name} ${tone}`).join();
	const step = (times[1] ?? 0) - (times[0] ?? 0);
	const data = useMemo(() => aligned(times, lines, stacked), [times, lines, stacked]);

	useEffect(() => {
		const place = box.current!;
		const made = new uPlot(
			options({ place, step, lines, stacked, format, onMove: setAt }),
			data,
			place,
		);
		plot.current = made;
		const size = new ResizeObserver(() =>
			made.setSize({ width: place.clientWidth, height: HEIGHT }),
		);
		size.observe(place);
		return () => {
			size.disconnect();
			made.destroy();
			plot.current = undefined;
		};
		// Created again for other lines and colours only; new values are set below.
		// oxlint-disable-next-line react/exhaustive-deps
	}, [shape, step, stacked, unit, shade]);

	useEffect(() => plot.current?.setData(data), [data]);

	const index = at !== undefined && at < times.length ? at : times.length - 1;
	const shown = lines.map(({ name, tone, values }) => ({
		name,
		tone,
		text: valueText(values[index], format),
	}));
	return (
		<figure className="chart">
			<figcaption>
				<span className="chart-title">{title}</span>
				<span className="chart-at">
					{at === undefined || times[index] === undefined ? "" : timeOf(times[index])}
				</span>
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
				role="img"
				aria-label={`${title}. ${T.chart.now}: ${shown.map(({ name, text }) => `${name} ${text}`).join(", ")}.`}
			/>
		</figure>
	);
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
	return value === null || value === undefined ? "–" : format(value);
}

function timeOf(seconds: number): string {
	return new Date(seconds * 1000).toLocaleTimeString("en-GB", {
		hour: "2-digit",
		minute: "2-digit",
	});
}

/** uPlot's columns; stacked ones hold the sum up to their own, the last drawn lowest. */
function aligned(
	times: readonly number[],
	lines: readonly Line[],
	stacked: boolean,
): uPlot.AlignedData {
	if (!stacked) return [[...times], ...lines.map(({ values }) => [...values])];
	const sums = times.map(() => 0);
	return [
		[...times],
		...lines
			.map(({ values }) =>
				values.map((value, index) => (value === null ? null : (sums[index]! += value))),
			)
			.toReversed(),
	];
}

interface Drawing {
	place: HTMLElement;
	/** Seconds between two values. */
	step: number;
	lines: readonly Line[];
	stacked: boolean;
	format: (value: number) => string;
	onMove: (index: number | undefined) => void;
}

function options({ place, step, lines, stacked, format, onMove }: Drawing): uPlot.Options {
	const ink = colorOf(place, "text-3");
	const grid = { stroke: colorOf(place, "line"), width: 1 };
	const axis = { stroke: ink, grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
	const half = step / 2;
	const drawn = stacked ? lines.toReversed() : lines;
	return {
		width: place.clientWidth,
		height: HEIGHT,
		padding: [8, 16, 0, 0],
		legend: { show: false },
		cursor: {
			sync: { key: together.key },
			points: { size: 6 },
			drag: { x: false, y: false },
			y: false,
		},
		scales: {
			x: { range: (_plot, low, high) => [low - half, high + half] },
			y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, 1) * 1.08] },
		},
		axes: [
			{ ...axis, size: 24, gap: 4, values: (_plot, splits) => splits.map(timeOf) },
			{
				...axis,
				size: 52,
				gap: 4,
				space: 32,
				values: (_plot, splits) =>
					splits.map((split) => (Number.isInteger(split) || split > 10 ? format(split) : "")),
			},
		],
		series: [
			{},
			...drawn.map(({ name, tone, dashed }): uPlot.Series => {
				const color = colorOf(place, tone);
				return stacked
					? {
							label: name,
							stroke: color,
							fill: color,
							width: 0,
							points: { show: false },
							...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.8, 14], gap: 1 }) } : {}),
						}
					: {
							label: name,
							stroke: color,
							width: 1.5,
							points: { show: false },
							spanGaps: false,
							...(dashed ? { dash: [4, 3] } : {}),
						};
			}),
		],
		hooks: { setCursor: [({ cursor }) => onMove(cursor.idx ?? undefined)] },
	};
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
