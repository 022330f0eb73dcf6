/** Which endpoints need attention: those that get no workers, or whose jobs fail. */
import type { ReactNode } from "react";
import { number, percent, withProgress } from "../format.ts";
import { StartNow } from "../parts/crash.tsx";
import { Badge } from "../parts/status.tsx";
import { to } from "../router.ts";
import type { EndpointTotals, Overview } from "../shapes.ts";
import { T } from "../text.ts";

/** An endpoint now, and over the chosen time as soon as that is known. */
export interface Row {
	overview: Overview;
	totals: EndpointTotals | undefined;
}

/** From this share of failures on, of so many jobs at least, an endpoint needs attention. */
const [BAD_RATIO, BAD_JOBS] = [0.05, 5];

/** Jobs that a worker or a deadline ended; cancelled ones are nobody's failure. */
export function endedOf({ completed, failed, timedOut }: EndpointTotals): number {
	return completed + failed + timedOut;
}

export function failedOf({ failed, timedOut }: EndpointTotals): number {
	return failed + timedOut;
}

export function ratioOf(totals: EndpointTotals): number {
	return endedOf(totals) === 0 ? 0 : failedOf(totals) / endedOf(totals);
}

function fails(totals: EndpointTotals | undefined): totals is EndpointTotals {
	return totals !== undefined && endedOf(totals) >= BAD_JOBS && ratioOf(totals) >= BAD_RATIO;
}

type State = Overview["health"]["state"];

/** What needs attention first comes first. */
const TONES: Readonly<Record<State, "bad" | "late" | "good">> = {
	crashing: "bad",
	no_workers: "bad",
	hindered: "late",
	paused: "late",
	healthy: "good",
};

/** The smaller, the earlier in the list. */
export function urgency({ overview: { health }, totals }: Row): number {
	const place = Object.keys(TONES).indexOf(health.state);
	return health.state === "healthy" && fails(totals) ? place - 0.5 : place;
}

export function Health({ state }: { state: State }): ReactNode {
	return <Badge tone={TONES[state]}>{T.health[state]}</Badge>;
}

/** Endpoints whose jobs get no workers or fail, why, and what can be done here. */
export function Attention({ rows, span }: { rows: readonly Row[]; span: string }): ReactNode {
	const urgent = rows.filter(
		({ overview: { health, paused, queue }, totals }) =>
			!["healthy", "paused"].includes(health.state) || fails(totals) || (paused && queue.inQueue > 0),
	);
	if (urgent.length === 0) return null;
	return (
		<section className="card">
			<h2>{T.health.attention}</h2>
			<ul className="attention">
				{urgent.map(({ overview, totals }) => (
					<li key={overview.id}>
						<p>
							<Health state={overview.health.state} />{" "}
							<a href={to(["endpoints", overview.id, "workers"])}>{overview.name}</a>{" "}
							<Reasons overview={overview} totals={totals} span={span} />
						</p>
						{overview.health.state === "crashing" ? (
							<StartNow endpoint={overview.id} retryAt={overview.health.reason?.retryAt} reload={() => {}} />
						) : null}
					</li>
				))}
			</ul>
		</section>
	);
}

function Reasons({ overview: { id, health, queue }, totals, span }: Row & { span: string }): ReactNode {
	const { state, reason } = health;
	return (
		<>
			{state === "healthy" ? null : state === "paused" ? (
				<span>{T.overview.pausedWith(number(queue.inQueue))} </span>
			) : (
				<span>
					{reason ? withProgress(reason) : T.health.noWorkers}{" "}
					{reason?.lastLine ? <code className="break">{reason.lastLine}</code> : null}{" "}
				</span>
			)}
			{fails(totals) ? (
				<a href={to(["endpoints", id, "requests"], { status: "FAILED,TIMED_OUT" })}>
					{T.overview.failing(percent(ratioOf(totals)), span)}
				</a>
			) : null}
		</>
	);
}
