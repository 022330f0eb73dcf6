/** What happened to a job: its waits and runs as bars to scale, and every event with its time to the ms. */
import type { ReactNode } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { useNow } from "../../client/clock.ts";
import { duration, moment, timeOfDay } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import type { Delivery, EndedWorker, JobDetail, Worker } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { returnsOf } from "../../values/jobs/returns.ts";
import { type Bar, type Lane, lanesOf } from "../../values/waterfall.ts";
import { Copy } from "../copy.tsx";
import { toneOf } from "../status.tsx";

const NO_DELIVERIES: readonly Delivery[] = [];

export function Timeline({
	endpoint,
	job,
	deliveries = NO_DELIVERIES,
}: {
	endpoint: string;
	job: JobDetail;
	deliveries?: readonly Delivery[] | undefined;
}): ReactNode {
	const open = job.attempts.filter((attempt) => attempt.open && attempt.end !== "running");
	const began = new Date(job.submittedAt).getTime();
	return (
		<section className="card">
			<h2>{T.job.timeline}</h2>
			<Waterfall endpoint={endpoint} job={job} deliveries={deliveries} />
			{job.trace === undefined ? null : <Trace trace={job.trace} />}
			<details className="fold events">
				<summary>{T.job.events(job.timeline.length)}</summary>
				<ol className="timeline">
					{job.timeline.map(({ at, event, message, attempt }, index) => (
						<li key={`${at}${event}${attempt ?? index}`} className={`tone-${toneOf(event)}`}>
							<time dateTime={at} title={moment(new Date(at).getTime())}>
								{timeOfDay(at)}
								{index === 0 ? null : <span className="offset">+{duration(new Date(at).getTime() - began)}</span>}
							</time>
							<span>{message}</span>
						</li>
					))}
				</ol>
			</details>
			{returnsOf(job).map(({ attempts, reason, isLoss }) => (
				<p key={attempts[0]} className="hint break">
					{T.job.returned(attempts, reason, isLoss)}
				</p>
			))}
			{open.map(({ attempt, workerId }) => (
				<p key={attempt} className="hint">
					{T.job.open(attempt, workerId)}
				</p>
			))}
		</section>
	);
}

/** Its trace, with a link to the page that the configuration has for it. */
function Trace({ trace: { id, url } }: { trace: NonNullable<JobDetail["trace"]> }): ReactNode {
	return (
		<p className="trace">
			<span className="muted">{T.job.traceId}</span> <code className="break">{id}</code>
			<Copy text={id} name={T.job.copyTrace} />
			{url === undefined ? null : (
				<a href={url} target="_blank" rel="noopener noreferrer">
					{T.job.openTrace(new URL(url).host)}
				</a>
			)}
		</p>
	);
}

/** A lane for each attempt, with the wait before it, and one for the webhook. */
function Waterfall({
	endpoint,
	job,
	deliveries,
}: {
	endpoint: string;
	job: JobDetail;
	deliveries: readonly Delivery[];
}): ReactNode {
	const now = useNow(job.endedAt === undefined ? 1000 : 60_000);
	const workers = useStarts(endpoint, job);
	const { lanes, whole } = lanesOf(job, { now, workers, deliveries });
	if (lanes.length === 0) return null;
	const lastRun = job.attempts.at(-1)?.end ?? "";
	const kinds = [...new Set(lanes.flatMap(({ bars }) => bars.map(({ kind }) => kind)))].filter(
		(kind) => kind !== "webhook",
	);
	return (
		<div className="waterfall">
			<div role="img" aria-label={lanes.flatMap((lane) => lane.bars.map((bar) => nameOf(bar, lane))).join(", ")}>
				{lanes.map((lane) => (
					<LaneView key={`${lane.kind} ${lane.number}`} lane={lane} whole={whole} />
				))}
			</div>
			<p className="scale-ends muted">
				<span>0</span>
				<span className="legend">
					{kinds.map((kind) => (
						<span key={kind}>
							<i className={`bar-key bar-${kind} ${kind === "run" ? `tone-${toneOf(lastRun)}` : ""}`} />{" "}
							{T.job.bars[kind]}
						</span>
					))}
				</span>
				<span>{duration(whole)}</span>
			</p>
		</div>
	);
}

function LaneView({ lane, whole }: { lane: Lane; whole: number }): ReactNode {
	const end = lane.bars.at(-1)!;
	return (
		<div className="lane">
			<span className="lane-name">
				{lane.kind === "attempt" ? T.job.lanes.attempt(lane.number) : T.job.lanes[lane.kind]}
			</span>
			<span className="lane-track">
				{lane.bars.map((bar, index) => (
					<span
						key={index}
						className={`lane-bar bar-${bar.kind} ${bar.end === "" ? "" : `tone-${toneOf(bar.end)}`}`}
						style={{
							left: `${Math.min(99.4, (bar.from / whole) * 100)}%`,
							width: `${Math.min(100 - (bar.from / whole) * 100, (bar.ms / whole) * 100)}%`,
						}}
						title={nameOf(bar, lane)}
					>
						<span>{duration(bar.ms)}</span>
					</span>
				))}
			</span>
			<span className="lane-end muted">
				{lane.kind === "webhook" && end.from > whole
					? `+${duration(end.from)}`
					: end.kind === "run"
						? T.job.lanes[lane.returned ? "returned" : "ran"](duration(end.ms))
						: duration(end.ms)}
			</span>
		</div>
	);
}

function nameOf({ kind, ms }: Bar, { number, returned = false }: Lane): string {
	const span = duration(ms);
	if (kind === "run") return returned ? T.job.gaveBack(number, span) : T.job.ran(number, span);
	const texts = { wait: T.job.waited, room: T.job.madeRoom, start: T.job.started, webhook: T.job.sent };
	return texts[kind](span);
}

/** When the workers of the job were started: of those that run, and of the last that have ended. */
function useStarts(endpoint: string, { attempts }: JobDetail): readonly (Worker | EndedWorker)[] {
	const path = ofEndpoint(endpoint, `/workers${search({ ended: "true" })}`);
	const { data } = useLoad(
		`${path} ${attempts.length > 0}`,
		async (signal) =>
			attempts.length === 0
				? undefined
				: await ask<{ workers: readonly Worker[]; ended?: readonly EndedWorker[] }>(path, { signal }),
		{ change: attempts.length },
	);
	return data ? [...data.workers, ...(data.ended ?? [])] : [];
}
