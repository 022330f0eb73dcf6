/**
 * All endpoints: what needs attention first, what happened in a chosen time, queue and workers now.
 */
import { type ReactNode, useState } from "react";
import { ask, search } from "../../client/api.ts";
import { now, useTick } from "../../client/clock.ts";
import { useFeed } from "../../client/feed.ts";
import { count, duration, percent } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { SpanChoice } from "../../parts/charts/span-choice.tsx";
import { METRICS_KEPT_MS, MINUTE_MS, spanOf, stepOf } from "../../values/ranges.ts";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { EndpointTotals, Overview, Totals } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { endedOf, failedOf, fails, present } from "../../values/totals.ts";
import { Alerts } from "../../modules/alerts/alerts.tsx";
import { Attention, urgency } from "./attention.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { LastFailures } from "./last-failures.tsx";
import { NewEndpoint } from "../endpoint/new-endpoint.tsx";
import { Hero } from "./overview-hero.tsx";
import { EndpointTable } from "./overview-table.tsx";
import { WorkerUse } from "../workers/worker-use.tsx";

/** Ms between two reads of the totals. */
const PACE_MS = 15_000;

export function OverviewPage(): ReactNode {
	const { endpoints } = useFeed();
	const { query } = usePlace();
	const span = spanOf(query.get("span"));
	const [making, setMaking] = useState(false);
	const admin = useMay("admin");
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.overview}</h1>
				<div className="actions">
					{endpoints === undefined || endpoints.length === 0 ? null : (
						<SpanChoice chosen={span.id} choose={(id) => go(to(["overview"], { span: id }), true)} />
					)}
					{admin ? (
						<Button icon="plus" onPress={() => setMaking(true)}>
							{T.newEndpoint.open}
						</Button>
					) : null}
				</div>
			</header>
			{endpoints === undefined ? (
				<Loading />
			) : (
				<>
					<FirstSteps endpoints={endpoints} />
					<Alerts />
					{endpoints.length === 0 ? null : <Summary endpoints={endpoints} span={span} />}
				</>
			)}
			{making ? <NewEndpoint close={() => setMaking(false)} /> : null}
		</>
	);
}

/** The totals of the span, and of the time of the same length before where it is kept. */
async function totalsOf(ms: number, signal: AbortSignal): Promise<{ present: Totals; before?: Totals }> {
	const end = now();
	const of = (from: number, until: number): Promise<Totals> =>
		ask<Totals>(
			`v1/metrics${search({
				from: new Date(from).toISOString(),
				to: new Date(until).toISOString(),
				step: stepOf(from, until, end),
			})}`,
			{ signal },
		);
	const [totals, before] = await Promise.all([
		of(end - ms, end),
		2 * ms > METRICS_KEPT_MS ? undefined : of(end - 2 * ms, end - ms),
	]);
	return { present: totals, ...(before ? { before } : {}) };
}

function Summary({ endpoints, span }: { endpoints: readonly Overview[]; span: ReturnType<typeof spanOf> }): ReactNode {
	const minute = useTick(MINUTE_MS);
	const { at } = useFeed();
	const change = `${at} ${minute}`;
	const { data, failure, reload } = useLoad(span.id, (signal) => totalsOf(span.ms, signal), {
		change,
		keep: true,
		pace: () => PACE_MS,
	});
	const totals = data?.present.endpoints ?? [];
	const rows = endpoints
		.map((overview) => ({ overview, totals: totals.find((each) => each.id === overview.id) }))
		.toSorted((a, b) => urgency(a) - urgency(b));
	const total = (of: (endpoint: Overview) => number): number =>
		endpoints.reduce((sum, endpoint) => sum + of(endpoint), 0);
	const sum = (of: (totals: EndpointTotals) => number, all: readonly EndpointTotals[] = totals): number =>
		all.reduce((result, each) => result + of(each), 0);
	const outcomes = {
		completed: sum(({ completed }) => completed),
		failed: sum(({ failed }) => failed),
		timedOut: sum(({ timedOut }) => timedOut),
	};
	const ended = endedOf(outcomes);
	const before = data?.before && sum(endedOf, data.before.endpoints);
	const gpu = sum(({ gpuSeconds }) => gpuSeconds);
	const spanText = T.charts.spans[span.id];
	return (
		<>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			<Attention rows={rows} span={spanText} />
			{data && ended + (before ?? 0) === 0 ? null : (
				<Hero rows={rows} span={span} ended={ended} before={before} change={change} />
			)}
			<dl className="tiles">
				<Tile name={T.overview.queue} text={count(total(({ queue }) => queue.inQueue))} />
				<Tile name={T.overview.running} text={count(total(({ queue }) => queue.inProgress))} />
				<Tile name={T.overview.workers} text={count(total(({ workers }) => present(workers)))} />
				<Tile
					name={T.overview.errors}
					text={ended === 0 ? "–" : percent(failedOf(outcomes) / ended)}
					bad={fails(outcomes)}
				/>
				<Tile name={T.overview.time} text={duration(1000 * sum(({ executionSeconds }) => executionSeconds))} />
				{gpu > 0 ? <Tile name={T.overview.gpuTime} text={duration(1000 * gpu)} /> : null}
			</dl>
			<EndpointTable rows={rows} />
			<div className="halves">
				<LastFailures rows={rows} span={span} change={change} />
				<WorkerUse rows={rows} span={span} />
			</div>
		</>
	);
}

function Tile({ name, text, bad = false }: { name: string; text: string; bad?: boolean }): ReactNode {
	return (
		<div className="tile">
			<dt>{name}</dt>
			<dd className={bad ? "bad" : undefined}>{text}</dd>
		</div>
	);
}
