/** What needs attention: endpoints that get no workers or whose jobs fail. */
import type { ReactNode } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, ofEndpoint } from "../../client/api.ts";
import { number, percent, withProgress } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { StartNow } from "../../parts/crash.tsx";
import { Badge } from "../../parts/status.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { EndedWorker, Overview } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type EndpointRow, fails, ratioOf } from "../../values/totals.ts";
import { endedGroups } from "./crash-groups.ts";
import { Times } from "../workers/ended-workers.tsx";

type State = Overview["health"]["state"];

/** What needs attention first comes first. */
const TONES: Readonly<Record<State, "bad" | "late" | "good">> = {
	crashing: "bad",
	no_workers: "bad",
	hindered: "late",
	paused: "late",
	healthy: "good",
};

const isFailing = ({ totals }: EndpointRow): boolean => totals !== undefined && fails(totals);

/** The smaller, the earlier in the list. */
export function urgency(row: EndpointRow): number {
	const { state } = row.overview.health;
	const place = Object.keys(TONES).indexOf(state);
	return state === "healthy" && isFailing(row) ? place - 0.5 : place;
}

export function Health({ state }: { state: State }): ReactNode {
	return <Badge tone={TONES[state]}>{T.health[state]}</Badge>;
}

export function Attention({ rows, span }: { rows: readonly EndpointRow[]; span: string }): ReactNode {
	const urgent = rows.filter(
		(row) =>
			!["healthy", "paused"].includes(row.overview.health.state) ||
			isFailing(row) ||
			(row.overview.paused && row.overview.queue.inQueue > 0),
	);
	if (urgent.length === 0) return null;
	return (
		<section className="card">
			<h2>{T.health.attention}</h2>
			<ul className="attention">
				{urgent.map((row) => (
					<EndpointLine key={row.overview.id} row={row} span={span} />
				))}
			</ul>
		</section>
	);
}

function EndpointLine({ row, span }: { row: EndpointRow; span: string }): ReactNode {
	const { id, name, health, queue, paused } = row.overview;
	const { state, reason } = health;
	const write = useMay("write");
	const why =
		state === "healthy" || state === "paused" ? undefined : reason ? withProgress(reason) : T.health.noWorkers;
	return (
		<li>
			<p>
				<Health state={state} /> <a href={to(["endpoints", id, "workers"])}>{name}</a>{" "}
				{reason?.lastLine ? (
					<code className="break" title={why}>
						{reason.lastLine}
					</code>
				) : (
					<span>{why}</span>
				)}{" "}
				{state === "crashing" ? <Crashes endpoint={id} at={reason?.retryAt} /> : null}{" "}
				{paused && queue.inQueue > 0 ? <span>{T.overview.pausedWith(number(queue.inQueue))} </span> : null}
				{isFailing(row) ? (
					<a href={to(["endpoints", id, "requests"], { status: "FAILED,TIMED_OUT" })}>
						{T.overview.failing(percent(ratioOf(row.totals!)), span)}
					</a>
				) : null}
			</p>
			{state === "crashing" ? <StartNow endpoint={id} retryAt={reason?.retryAt} reload={() => {}} /> : null}
			{state === "no_workers" && write ? (
				<a className="button" href={to(["endpoints", id, "connect"])}>
					{T.health.connect}
				</a>
			) : null}
			{paused && queue.inQueue > 0 ? <Resume endpoint={id} /> : null}
		</li>
	);
}

/** How often its workers crashed in the same way, and the log of the last one. `at` changes with each. */
function Crashes({ endpoint, at }: { endpoint: string; at: string | undefined }): ReactNode {
	const admin = useMay("admin");
	const { data } = useLoad(
		endpoint,
		async (signal) => {
			const path = ofEndpoint(endpoint, "/workers?ended=true");
			const { ended } = await ask<{ ended: EndedWorker[] }>(path, { signal });
			const rows = ended
				.map((worker) => ({ ...worker, endpoint }))
				.toSorted((a, b) => (a.endedAt < b.endedAt ? 1 : -1));
			return endedGroups(rows).find(({ newest }) => newest.code !== undefined);
		},
		{ change: at },
	);
	if (!data) return null;
	return (
		<>
			<Times group={data} />{" "}
			{admin ? <a href={to(["endpoints", endpoint, "workers", data.newest.id])}>{T.health.log}</a> : null}
		</>
	);
}

function Resume({ endpoint }: { endpoint: string }): ReactNode {
	const admin = useMay("admin");
	const { busy, run } = useAct();
	if (!admin) return null;
	const resume = (): Promise<unknown> => ask(ofEndpoint(endpoint, "/resume"), { method: "POST" });
	return (
		<Button icon="play" busy={busy} onPress={() => void run(resume, T.endpoint.resumed)}>
			{T.endpoint.resume}
		</Button>
	);
}
