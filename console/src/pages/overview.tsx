/** All endpoints at a glance: queue, workers, throughput, failures, the last half hour. */
import { useState } from "react";
import type { ReactNode } from "react";
import { useFeed } from "../feed.ts";
import { count, number, withProgress } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/copy.tsx";
import { StartNow } from "../parts/crash.tsx";
import { Empty, Loading } from "../parts/notice.tsx";
import { Spark } from "../parts/spark.tsx";
import { Badge } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";
import type { Column } from "../parts/table.tsx";
import { to } from "../router.ts";
import { useMay } from "../session.tsx";
import type { Overview, WorkerCounts } from "../shapes.ts";
import { T } from "../text.ts";
import { NewEndpoint } from "./new-endpoint.tsx";

const COLUMNS: readonly Column<Overview>[] = [
	{ name: T.overview.endpoint, main: true, cell: (endpoint) => <Name endpoint={endpoint} /> },
	{
		name: T.overview.queue,
		end: true,
		cell: ({ queue }) => <Figure value={queue.inQueue} loud={queue.inQueue > 0} />,
	},
	{ name: T.overview.running, end: true, cell: ({ queue }) => <Figure value={queue.inProgress} /> },
	{ name: T.overview.workers, end: true, cell: ({ workers }) => <Workers workers={workers} /> },
	{
		name: T.overview.perMinute,
		end: true,
		cell: ({ perMinute }) => (
			<Figure
				value={(perMinute.completed ?? 0) + failuresOf(perMinute) + (perMinute.cancelled ?? 0)}
			/>
		),
	},
	{
		name: T.overview.failures,
		end: true,
		cell: ({ perMinute }) => (
			<Figure value={failuresOf(perMinute)} bad={failuresOf(perMinute) > 0} />
		),
	},
	{
		name: T.overview.spark,
		cell: ({ spark }) => (
			<Spark
				values={spark}
				label={T.overview.sparkLabel(
					number(spark.reduce((sum, value) => sum + value, 0)),
					number(Math.max(0, ...spark)),
				)}
			/>
		),
	},
];

export function OverviewPage(): ReactNode {
	const { endpoints } = useFeed();
	const [making, setMaking] = useState(false);
	const admin = useMay("admin");
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.overview}</h1>
				{admin ? (
					<div className="actions">
						<Button icon="plus" onPress={() => setMaking(true)}>
							{T.newEndpoint.open}
						</Button>
					</div>
				) : null}
			</header>
			{endpoints === undefined ? (
				<Loading />
			) : endpoints.length === 0 ? (
				<NoEndpoint />
			) : (
				<Summary endpoints={endpoints} />
			)}
			{making ? <NewEndpoint close={() => setMaking(false)} /> : null}
		</>
	);
}

function Summary({ endpoints }: { endpoints: readonly Overview[] }): ReactNode {
	const total = (of: (endpoint: Overview) => number): number =>
		endpoints.reduce((sum, endpoint) => sum + of(endpoint), 0);
	return (
		<>
			<dl className="tiles">
				<Tile name={T.overview.queue} value={total(({ queue }) => queue.inQueue)} />
				<Tile name={T.overview.running} value={total(({ queue }) => queue.inProgress)} />
				<Tile name={T.overview.workers} value={total(({ workers }) => present(workers))} />
				<Tile
					name={T.overview.perMinute}
					value={total(
						({ perMinute }) =>
							(perMinute.completed ?? 0) + failuresOf(perMinute) + (perMinute.cancelled ?? 0),
					)}
				/>
				<Tile
					name={T.overview.failures}
					value={total(({ perMinute }) => failuresOf(perMinute))}
					bad
				/>
			</dl>
			<Attention endpoints={endpoints} />
			<section className="card flush">
				<Table
					label={T.pages.endpoints}
					columns={COLUMNS}
					rows={endpoints.toSorted((a, b) => urgency(a) - urgency(b))}
					id={({ id }) => id}
				/>
			</section>
		</>
	);
}

function Tile({
	name,
	value,
	bad = false,
}: {
	name: string;
	value: number;
	bad?: boolean;
}): ReactNode {
	return (
		<div className="tile">
			<dt>{name}</dt>
			<dd className={bad && value > 0 ? "bad" : undefined}>{count(value)}</dd>
		</div>
	);
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
function urgency({ health: { state } }: Overview): number {
	return Object.keys(TONES).indexOf(state);
}

function Health({ state }: { state: State }): ReactNode {
	return <Badge tone={TONES[state]}>{T.health[state]}</Badge>;
}

/** Endpoints whose jobs get no workers, why, and what can be done here. */
function Attention({ endpoints }: { endpoints: readonly Overview[] }): ReactNode {
	const urgent = endpoints
		.filter(({ health: { state } }) => state !== "healthy" && state !== "paused")
		.toSorted((a, b) => urgency(a) - urgency(b));
	if (urgent.length === 0) return null;
	return (
		<section className="card">
			<h2>{T.health.attention}</h2>
			<ul className="attention">
				{urgent.map(({ id, name, health: { state, reason } }) => (
					<li key={id}>
						<p>
							<Health state={state} /> <a href={to(["endpoints", id, "workers"])}>{name}</a>{" "}
							<span>{reason ? withProgress(reason) : T.health.noWorkers}</span>
						</p>
						{state === "crashing" ? (
							<StartNow endpoint={id} retryAt={reason?.retryAt} reload={() => {}} />
						) : null}
					</li>
				))}
			</ul>
		</section>
	);
}

function Name({ endpoint }: { endpoint: Overview }): ReactNode {
	const { id, name, paused, workers, health } = endpoint;
	const { state } = health;
	return (
		<span className="name-cell">
			<a href={to(["endpoints", id])}>{name}</a>
			{name === id ? null : <code className="muted">{id}</code>}
			<Health state={state} />
			{paused && state !== "paused" ? <Badge tone="late">{T.paused}</Badge> : null}
			{workers.unhealthy > 0 ? (
				<Badge tone="bad">{T.overview.unhealthy(workers.unhealthy)}</Badge>
			) : null}
			{workers.throttled > 0 ? <Badge tone="late">{T.overview.throttled}</Badge> : null}
		</span>
	);
}

function Figure({
	value,
	loud = false,
	bad = false,
}: {
	value: number;
	loud?: boolean;
	bad?: boolean;
}): ReactNode {
	return (
		<span
			className={bad ? "figure bad" : loud ? "figure loud" : value === 0 ? "figure zero" : "figure"}
		>
			{count(value)}
		</span>
	);
}

function Workers({ workers }: { workers: WorkerCounts }): ReactNode {
	const parts = [
		workers.running > 0 ? T.overview.busy(workers.running) : "",
		workers.idle > 0 ? T.overview.idle(workers.idle) : "",
		workers.initializing > 0 ? T.overview.starting(workers.initializing) : "",
	].filter(Boolean);
	return (
		<span className={parts.length === 0 ? "figure zero" : "figure"}>
			{parts.length === 0 ? "0" : parts.join(", ")}
		</span>
	);
}

function NoEndpoint(): ReactNode {
	const admin = useMay("admin");
	return (
		<Empty title={T.overview.none}>
			<p>{admin ? T.overview.next : T.overview.nextReader}</p>
			<CodeBlock name={T.overview.none} text={T.overview.example} />
		</Empty>
	);
}

export function failuresOf(perMinute: Overview["perMinute"]): number {
	return (perMinute.failed ?? 0) + (perMinute.timedOut ?? 0);
}

/** Workers that are there. */
export function present(workers: WorkerCounts): number {
	return workers.idle + workers.running + workers.initializing;
}
