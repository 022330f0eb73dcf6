/** One job: where it stands and why, what happened to it, what went in and what came out. */
import { useState } from "react";
import type { ReactNode } from "react";
import { useAct } from "../act.ts";
import { ask } from "../api.ts";
import { duration } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Copy } from "../parts/copy.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { WaitReason } from "../parts/crash.tsx";
import { ErrorView } from "../parts/error-view.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { LogView } from "../parts/log-view.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { Status, toneOf } from "../parts/status.tsx";
import { StreamView } from "../parts/stream-view.tsx";
import { Ago, At, Since } from "../parts/time.tsx";
import { to } from "../router.ts";
import { useMay } from "../session.tsx";
import type { JobDetail } from "../shapes.ts";
import { T } from "../text.ts";
import { isOver, useJob } from "../use-job.ts";
import { JobDeliveries } from "./deliveries.tsx";

export function JobPage({ endpoint, id }: { endpoint: string; id: string }): ReactNode {
	const { data: job, failure, reload } = useJob(endpoint, id);
	if (!job) return failure ? <Refusal failure={failure} again={reload} /> : <Loading />;
	return (
		<article className="job">
			<JobHead endpoint={endpoint} job={job} reload={reload} />
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{job.reason ? (
				<WaitReason endpoint={endpoint} reason={job.reason} reload={reload} title={T.job.waits} />
			) : null}
			{job.error === undefined ? null : (
				<section className="card">
					<h2>{T.job.error}</h2>
					<ErrorView error={job.error} />
				</section>
			)}
			<div className="job-grid">
				<div className="stack">
					<Facts endpoint={endpoint} job={job} />
					<Timeline job={job} />
				</div>
				<div className="stack">
					{job.output === undefined ? null : (
						<section className="card">
							<h2>{job.status === "IN_PROGRESS" ? T.job.progress : T.job.output}</h2>
							<JsonView value={job.output} label={T.job.output} />
						</section>
					)}
					<Stream endpoint={endpoint} job={job} reload={reload} />
					{job.input === undefined ? null : (
						<section className="card">
							<h2>{T.job.input}</h2>
							<JsonView value={job.input} label={T.job.input} />
						</section>
					)}
					{job.expired ? <p className="muted">{T.job.expired}</p> : null}
					<Logs endpoint={endpoint} job={job} />
					{job.webhook === undefined ? null : (
						<JobDeliveries endpoint={endpoint} job={id} change={job.status} />
					)}
				</div>
			</div>
		</article>
	);
}

function JobHead({
	endpoint,
	job,
	reload,
}: {
	endpoint: string;
	job: JobDetail;
	reload: () => void;
}): ReactNode {
	const [cancelling, setCancelling] = useState(false);
	const write = useMay("write");
	const { busy, run } = useAct();
	const call = (operation: string): Promise<unknown> =>
		ask(`v2/${encodeURIComponent(endpoint)}/${operation}/${encodeURIComponent(job.id)}`, {
			method: "POST",
		});
	const retry = async (): Promise<void> => {
		if (await run(() => call("retry"), T.job.retried)) reload();
	};
	const retryable = (job.status === "FAILED" || job.status === "TIMED_OUT") && !job.expired;
	return (
		<header className="job-head">
			<div className="page-title">
				<Status state={job.status} />
				<span className="job-id-line">
					<h2 className="mono job-id">{job.id}</h2>
					<Copy text={job.id} name={T.job.copyId} />
				</span>
			</div>
			<div className="actions">
				{write && !isOver(job) ? (
					<Button icon="stop" onPress={() => setCancelling(true)}>
						{T.job.cancel}
					</Button>
				) : null}
				{write && retryable ? (
					<Button icon="retry" busy={busy} onPress={() => void retry()}>
						{T.job.retry}
					</Button>
				) : null}
				{write && job.input !== undefined ? (
					<a className="button plain" href={to(["endpoints", endpoint, "try"], { like: job.id })}>
						{T.job.again}
					</a>
				) : null}
			</div>
			{cancelling ? (
				<Confirm
					title={T.job.cancelTitle}
					act={T.job.cancel}
					danger
					doing={async () => {
						await call("cancel");
						reload();
					}}
					done={T.job.cancelled}
					close={() => setCancelling(false)}
				>
					<p>{job.status === "IN_PROGRESS" ? T.job.cancelRunning : T.job.cancelWaiting}</p>
				</Confirm>
			) : null}
		</header>
	);
}

function Facts({ endpoint, job }: { endpoint: string; job: JobDetail }): ReactNode {
	const waits = job.status === "IN_QUEUE";
	const runs = job.status === "IN_PROGRESS" && job.startedAt !== undefined;
	const facts: readonly { name: string; value: ReactNode }[] = [
		{
			name: T.requests.submitted,
			value: (
				<>
					<At at={job.submittedAt} />{" "}
					<span className="muted">
						(<Ago at={job.submittedAt} />)
					</span>
				</>
			),
		},
		{
			name: T.requests.delay,
			value: waits ? <Since at={job.queuedAt} /> : duration(job.delayTime),
		},
		{
			name: T.requests.execution,
			value: runs ? (
				<Since at={job.startedAt!} />
			) : job.startedAt === undefined ? (
				"–"
			) : (
				duration(job.executionTime)
			),
		},
		{
			name: T.requests.worker,
			value:
				job.workerId === undefined ? (
					"–"
				) : (
					<a className="mono" href={to(["endpoints", endpoint, "workers", job.workerId])}>
						{job.workerId}
					</a>
				),
		},
		{ name: T.job.operation, value: <code>/{job.operation}</code> },
		{ name: T.job.ttl, value: duration(job.policy.ttl) },
		{ name: T.job.executionTimeout, value: duration(job.policy.executionTimeout) },
		{ name: T.job.retries, value: job.retries },
		{ name: T.job.priority, value: job.lowPriority ? T.job.low : undefined },
		{ name: T.job.webhook, value: job.webhook },
		{ name: T.job.s3, value: job.s3Config ? T.job.s3Given : undefined },
		{
			name: T.job.expires,
			value: job.expiresAt === undefined || job.expired ? undefined : <Ago at={job.expiresAt} />,
		},
	].filter(({ value }) => value !== undefined);
	return (
		<section className="card">
			<h2 className="hidden">{T.job.facts}</h2>
			<dl className="facts">
				{facts.map(({ name, value }) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

function Timeline({ job }: { job: JobDetail }): ReactNode {
	const open = job.attempts.filter((attempt) => attempt.open && attempt.end !== "running");
	return (
		<section className="card">
			<h2>{T.job.timeline}</h2>
			<ol className="timeline">
				{job.timeline.map(({ at, event, message, attempt }, index) => (
					<li key={`${at}${event}${attempt ?? index}`} className={`tone-${toneOf(event)}`}>
						<At at={at} />
						<span>{message}</span>
					</li>
				))}
			</ol>
			{open.map(({ attempt, workerId }) => (
				<p key={attempt} className="hint">
					{T.job.open(attempt, workerId)}
				</p>
			))}
		</section>
	);
}

/**
 * What it streams while it runs; afterwards, for who wants to see it: the chunks are loaded then.
 */
function Stream({
	endpoint,
	job: { id, status, chunks, expired },
	reload,
}: {
	endpoint: string;
	job: JobDetail;
	reload: () => void;
}): ReactNode {
	const [open, setOpen] = useState(status === "IN_PROGRESS");
	if (expired || (chunks.written === 0 && status !== "IN_PROGRESS")) return null;
	return (
		<details
			className="card fold"
			open={open}
			onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
		>
			<summary>
				{T.job.stream} <span className="muted">{T.job.chunks(chunks.written)}</span>
			</summary>
			{open ? <StreamView endpoint={endpoint} job={id} onEnd={reload} /> : null}
		</details>
	);
}

/** Of one attempt's worker at a time, the last one first. */
function Logs({
	endpoint,
	job: { id, attempts },
}: {
	endpoint: string;
	job: JobDetail;
}): ReactNode {
	const admin = useMay("admin");
	const workers = [...new Set(attempts.map(({ workerId }) => workerId))].toReversed();
	const [chosen, setChosen] = useState<string | undefined>(undefined);
	const worker = chosen ?? workers[0];
	if (!admin || worker === undefined) return null;
	return (
		<section className="card">
			<h2>{T.job.logs}</h2>
			{workers.length > 1 ? (
				<div className="actions">
					{workers.map((each) => (
						<button
							key={each}
							type="button"
							className="segment"
							aria-pressed={each === worker}
							onClick={() => setChosen(each)}
						>
							{each}
						</button>
					))}
				</div>
			) : null}
			<LogView key={worker} endpoint={endpoint} worker={worker} job={id} />
			<p className="hint">
				{T.job.onlyIts}{" "}
				<a href={to(["endpoints", endpoint, "workers", worker])}>{T.job.wholeLog}</a>
			</p>
		</section>
	);
}
