/** How many workers and GPUs ran jobs on average, by endpoint. */
import type { ReactNode } from "react";
import { duration, number } from "../../text/format.ts";
import { to } from "../../client/router.ts";
import { T } from "../../text/text.ts";
import type { EndpointRow } from "../../values/totals.ts";

const SHOWN = 5;

export function WorkerUse({ rows, span: { ms } }: { rows: readonly EndpointRow[]; span: { ms: number } }): ReactNode {
	const used = rows
		.map(({ overview: { id, name }, totals }) => ({
			id,
			name,
			seconds: totals?.executionSeconds ?? 0,
			gpuSeconds: totals?.gpuSeconds ?? 0,
		}))
		.filter(({ seconds }) => seconds > 0)
		.toSorted((a, b) => b.seconds - a.seconds)
		.slice(0, SHOWN);
	// One scale for all: the bars compare the endpoints.
	const most = Math.max(1, (1000 * (used[0]?.seconds ?? 0)) / ms);
	return (
		<section className="card">
			<h2>{T.overview.use}</h2>
			{used.length === 0 ? (
				<p className="muted">{T.overview.noUse}</p>
			) : (
				<ul className="facts-list">
					{used.map(({ id, name, seconds, gpuSeconds }) => (
						<li key={id}>
							<span className="use-line">
								<a href={to(["endpoints", id, "workers"])}>{name}</a>
								<span className="muted">
									{[
										T.overview.average(number((1000 * seconds) / ms)),
										...(gpuSeconds > 0 ? [T.overview.gpus(number((1000 * gpuSeconds) / ms))] : []),
										duration(1000 * seconds),
									].join(" · ")}
								</span>
							</span>
							<meter className="use" min={0} max={most} value={(1000 * seconds) / ms} aria-label={name} />
						</li>
					))}
				</ul>
			)}
		</section>
	);
}
