/** A line without axes: the last half hour at a glance. */
import type { ReactNode } from "react";

const WIDTH = 120;
const HEIGHT = 26;

/** `label`: accessible name. The last of the minutes is not over, and not drawn: it would look like a fall. */
export function Spark({ values: minutes, label }: { values: readonly number[]; label: string }): ReactNode {
	const values = minutes.slice(0, -1);
	const top = Math.max(1, ...values);
	const points = values.map(
		(value, index) =>
			`${((index / Math.max(1, values.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 1.5 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
	);
	return (
		<svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
			{points.length > 1 ? (
				<path className="spark-area" d={`M0,${HEIGHT} L${points.join(" L")} L${WIDTH},${HEIGHT} Z`} />
			) : null}
			{points.length > 1 ? <polyline className="spark-line" points={points.join(" ")} /> : null}
		</svg>
	);
}
