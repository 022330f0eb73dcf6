/**
 * A chart over time, on a canvas (uPlot). Its legend shows the last values, or those under the
 * pointer; its accessible name contains them too.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isOpen, lastOf, spanOf, sumOf, timeOf } from "../../values/chart-values.ts";
import { now } from "../../client/clock.ts";
import { count, duration } from "../../text/format.ts";
import { spanText } from "../../values/ranges.ts";
import { T } from "../../text/text.ts";
import { useShade } from "../theme.ts";
import { aligned, type ChartKind, HEIGHT, type Line, type Marker, options } from "./chart-drawing.ts";

interface ChartProps {
	title: string;
	/** Seconds since the epoch, one for each value. */
	times: readonly number[];
	lines: readonly Line[];
	markers?: readonly Marker[];
	unit?: "count" | "ms";
	kind?: ChartKind;
	/** Without a pointer the legend shows sums in place of the last values. */
	sums?: boolean;
	/** A part was selected; ms since the epoch. */
	zoom?: (from: number, to: number) => void;
}

const NO_MARKERS: readonly Marker[] = [];

export function Chart({
	title,
	times,
	lines,
	markers = NO_MARKERS,
	unit = "count",
	kind = "lines",
	sums = false,
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
	const shown = lines.map(({ name, tone, values, dashed }) => ({
		name,
		swatch: `swatch ${tone}${dashed ? " dashed" : ""}`,
		text: valueText(index !== undefined ? values[index] : sums ? sumOf(values) : lastOf(values, unit), format),
	}));
	const time = index === undefined ? "" : momentText(times, index, step);
	const last = sums ? T.chart.sums(spanText(times.length * step * 1000, 2 * step * 1000)) : lastText(times, step, unit);
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
				<span className="chart-at">{time || last}</span>
				<ul className="legend">
					{shown.map(({ name, swatch, text }) => (
						<li key={name}>
							<i className={swatch} /> {name} <b>{text}</b>
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
				aria-valuetext={`${time || last}: ${texts}.`}
				onKeyDown={onKeyDown}
			/>
		</figure>
	);
}

/** The time of a value; the last one may be of a step that is not over. */
function momentText(times: readonly number[], index: number, step: number): string {
	const time = timeOf(times[index]!, spanOf(times));
	return isOpen(times[index]!, step, now()) ? T.chart.soFar(time) : time;
}

/** Which step the last values are of; each time is of the last step that has one. */
function lastText(times: readonly number[], step: number, unit: "count" | "ms"): string {
	const isOfNow = unit === "count" && (times.at(-1) ?? 0) + 2 * step >= now() / 1000;
	return isOfNow ? T.chart.lastStep(step <= 60) : T.chart.last;
}

/** As uPlot has it: its types lack that other charts follow. */
type MoveCursor = (at: { left: number; top: number }, fire: boolean, publish: boolean) => void;

function valueText(value: number | null | undefined, format: (value: number) => string): string {
	return value === null || value === undefined ? "–" : format(value);
}
