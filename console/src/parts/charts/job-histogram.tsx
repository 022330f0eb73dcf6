/** Jobs that ended over a time, in the colours of their states; a part of the time is selected in it. */
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import { now } from "../../client/clock.ts";
import { clock, number } from "../../text/format.ts";
import type { JobState, Metrics } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

/** In the order in which they are stacked, failures lowest. */
const OUTCOMES = [
	{ name: "failed", state: "FAILED", tone: "fill-bad" },
	{ name: "timedOut", state: "TIMED_OUT", tone: "fill-late" },
	{ name: "cancelled", state: "CANCELLED", tone: "fill-off" },
	{ name: "completed", state: "COMPLETED", tone: "fill-good" },
] as const;

const MOST_BARS = 75;
/** Of the height: few failures among thousands of jobs must be seen. */
const LEAST_PART = 6;
const HEIGHT = 100;

/** `select` gets the time from its first bar to the end of its last, ms since the epoch. */
export function JobHistogram({
	metrics,
	states,
	last,
	select,
}: {
	metrics: Metrics;
	/** The span in words, where it ends now. */
	last: string | undefined;
	/** Those that are shown; none: all. */
	states: readonly JobState[];
	select: (from: number, to: number) => void;
}): ReactNode {
	const [brush, setBrush] = useState<{ from: number; to: number } | undefined>(undefined);
	const [dragging, setDragging] = useState(false);
	const { bars, start, step } = barsOf(metrics, states);
	const most = Math.max(1, ...bars.map((counts) => counts.reduce((sum, count) => sum + count, 0)));
	const end = bars.length - 1;
	const [low, high] = brush ? [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)] : [end, end];
	const done = (): void => {
		if (brush) select(start + low * step, start + (high + 1) * step);
		setBrush(undefined);
		setDragging(false);
	};
	const barAt = ({ currentTarget, clientX }: PointerEvent<HTMLElement>): number => {
		const { left, width } = currentTarget.getBoundingClientRect();
		return Math.min(end, Math.max(0, Math.floor(((clientX - left) / width) * bars.length)));
	};
	const onKeyDown = (event: KeyboardEvent): void => {
		const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (event.key === "Enter") done();
		else if (event.key === "Escape") setBrush(undefined);
		else if (move !== undefined) {
			const to = Math.min(end, Math.max(0, (brush?.to ?? end + 1) + move));
			setBrush({ from: event.shiftKey && brush ? brush.from : to, to });
		} else return;
		event.preventDefault();
	};
	const text = (at: number): string => clock(Math.min(start + at * step, now()), now()).replace(/:\d\d$/, "");
	const sum = number(bars.flat().reduce((all, count) => all + count, 0));
	const caption = last === undefined ? T.histogram.sum(sum) : T.histogram.sumOfLast(last, sum);
	const isOpen = start + bars.length * step > now();
	/** From one bar to another, with what ended in them. */
	const partText = (from: number, to: number): string => {
		const counts = OUTCOMES.flatMap(({ state }, index) => {
			const count = bars.slice(from, to + 1).reduce((all, bar) => all + bar[index]!, 0);
			return count === 0 ? [] : [`${T.states[state]} ${number(count)}`];
		}).join(", ");
		const shown = counts || T.histogram.nothing;
		return T.histogram.at(text(from), text(to + 1), to === end && isOpen ? T.histogram.soFar(shown) : shown);
	};
	return (
		<div className="histogram">
			<div
				className="histogram-bars"
				role="slider"
				tabIndex={0}
				aria-label={T.histogram.title}
				aria-valuemin={0}
				aria-valuemax={end}
				aria-valuenow={high}
				aria-valuetext={partText(low, high)}
				title={T.histogram.hint}
				onKeyDown={onKeyDown}
				onBlur={() => setBrush(undefined)}
				onPointerDown={(event) => {
					if (event.button !== 0) return;
					event.currentTarget.setPointerCapture(event.pointerId);
					setDragging(true);
					setBrush({ from: barAt(event), to: barAt(event) });
				}}
				onPointerMove={(event) => (dragging ? setBrush({ from: brush!.from, to: barAt(event) }) : undefined)}
				onPointerUp={dragging ? done : undefined}
			>
				<svg viewBox={`0 0 ${bars.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
					{brush ? <rect className="brush" x={low} width={high - low + 1} y={0} height={HEIGHT} /> : null}
					{bars.map((bar, at) => (
						<g key={at} className={at === end && isOpen ? "open" : undefined}>
							<title>{partText(at, at)}</title>
							<Stack at={at} counts={bar} most={most} />
						</g>
					))}
				</svg>
			</div>
			<p className="histogram-ends muted">
				<span>{text(0)}</span>
				<span>{brush ? partText(low, high) : caption}</span>
				<span>{text(bars.length)}</span>
			</p>
		</div>
	);
}

function Stack({ at, counts, most }: { at: number; counts: readonly number[]; most: number }): ReactNode {
	let top = HEIGHT;
	return counts.map((count, index) => {
		if (count === 0) return null;
		const height = Math.min(top, Math.max(LEAST_PART, (count / most) * HEIGHT));
		top -= height;
		const { name, tone } = OUTCOMES[index]!;
		return <rect key={name} className={tone} x={at + 0.1} width={0.8} y={top} height={height} />;
	});
}

/** Counts of each bar in the order of the outcomes, and the times, ms. */
function barsOf(
	{ from, step, series }: Metrics,
	states: readonly JobState[],
): { bars: number[][]; start: number; step: number } {
	const steps = series.completed.length;
	const each = Math.max(1, Math.ceil(steps / MOST_BARS));
	const bars = Array.from({ length: Math.ceil(steps / each) }, (_, bar) =>
		OUTCOMES.map(({ name, state }) =>
			states.length > 0 && !states.includes(state)
				? 0
				: series[name].slice(bar * each, (bar + 1) * each).reduce<number>((sum, count) => sum + (count ?? 0), 0),
		),
	);
	return { bars, start: new Date(from).getTime(), step: step * each };
}
