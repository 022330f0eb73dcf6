/** One job: where it stands and why, what happened to it, what went in and what came out. */
import { type ReactNode, useMemo, useState } from "react";
import { ErrorView } from "../../parts/error-view.tsx";
import { ConversationView, conversationOf } from "../../parts/values/conversation-view.tsx";
import { WaitReason } from "../../parts/crash.tsx";
import { LogView } from "../../parts/logs/log-view.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { StreamView } from "../../parts/values/stream-view.tsx";
import { Timeline } from "../../parts/charts/timeline.tsx";
import { ValueView } from "../../parts/values/value-view.tsx";
import type { Failure } from "../../client/api.ts";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { JobDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { isOver, useJob } from "./use-job.ts";
import { JobFiles, NoJobFiles, useJobFiles } from "../../modules/s3/job-files.tsx";
import { JobDeliveries, useDeliveries } from "../../modules/webhooks/deliveries.tsx";
import { JobCode } from "./job-code.tsx";
import { Facts, MoreFacts } from "./job-facts.tsx";
import { JobHead } from "./job-head.tsx";

export function JobPage({ endpoint, id }: { endpoint: string; id: string }): ReactNode {
	const { data: job, failure, reload } = useJob(endpoint, id);
	if (!job) return failure ? <Refusal failure={failure} again={reload} /> : <Loading />;
	return <Job endpoint={endpoint} job={job} failure={failure} reload={reload} />;
}

function Job({
	endpoint,
	job,
	failure,
	reload,
}: {
	endpoint: string;
	job: JobDetail;
	failure: Failure | undefined;
	reload: () => void;
}): ReactNode {
	const files = useJobFiles(endpoint, job);
	return (
		<article className="job">
			<JobHead endpoint={endpoint} job={job} reload={reload} />
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{job.reason ? <WaitReason endpoint={endpoint} reason={job.reason} reload={reload} title={T.job.waits} /> : null}
			{job.error === undefined ? null : (
				<section className="card">
					<h2>{T.job.error}</h2>
					<ErrorView error={job.error} />
				</section>
			)}
			<Facts endpoint={endpoint} job={job} />
			<History endpoint={endpoint} job={job}>
				<Values endpoint={endpoint} job={job} reload={reload} logs={<Logs endpoint={endpoint} job={job} />} />
				<JobFiles {...files} />
				{job.expired ? <p className="muted">{T.job.expired}</p> : null}
			</History>
			<div className="job-folds">
				<JobCode endpoint={endpoint} job={job} />
				<MoreFacts job={job} />
				<NoJobFiles {...files} />
			</div>
		</article>
	);
}

/** The timeline, and at its end the deliveries of the webhook that it shows too. */
function History({ endpoint, job, children }: { endpoint: string; job: JobDetail; children: ReactNode }): ReactNode {
	const deliveries = useDeliveries(endpoint, job);
	return (
		<>
			<Timeline endpoint={endpoint} job={job} deliveries={deliveries.data} />
			{children}
			{job.webhook === undefined ? null : <JobDeliveries {...deliveries} />}
		</>
	);
}

/** Input and output next to each other, or a chat as one conversation. */
function Values({
	endpoint,
	job,
	reload,
	logs,
}: {
	endpoint: string;
	job: JobDetail;
	reload: () => void;
	/** Next to the input of a job without an output, else below both. */
	logs: ReactNode;
}): ReactNode {
	const { input, output } = job;
	const turns = useMemo(() => conversationOf(input, output), [input, output]);
	const stream = <Stream endpoint={endpoint} job={job} reload={reload} />;
	if (turns && job.status !== "IN_PROGRESS")
		return (
			<>
				<ConversationView turns={turns} input={input} output={output} />
				{stream}
				{logs}
			</>
		);
	const streams = !job.expired && (job.chunks.written > 0 || job.status === "IN_PROGRESS");
	const out = output !== undefined || streams;
	return (
		<>
			<div className={input === undefined ? "stack" : "job-grid"}>
				{input === undefined ? null : (
					<section className="card">
						<h2>{T.job.input}</h2>
						<ValueView value={input} label={T.job.input} />
					</section>
				)}
				{out ? (
					<div className="stack">
						{output === undefined ? null : (
							<section className="card">
								<h2>{job.status === "IN_PROGRESS" ? T.job.progress : T.job.output}</h2>
								<ValueView value={output} label={T.job.output} />
							</section>
						)}
						{stream}
					</div>
				) : (
					logs
				)}
			</div>
			{out ? logs : null}
		</>
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
		<details className="card fold" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
			<summary>
				{T.job.stream} <span className="muted">{T.job.chunks(chunks.written)}</span>
			</summary>
			{open ? <StreamView endpoint={endpoint} job={id} onEnd={reload} /> : null}
		</details>
	);
}

/** Of one attempt's worker at a time, the last one first. */
function Logs({ endpoint, job }: { endpoint: string; job: JobDetail }): ReactNode {
	const { id, attempts } = job;
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
			<LogView key={worker} endpoint={endpoint} worker={worker} job={id} over={isOver(job)} />
			<p className="hint">
				{T.job.onlyIts} <a href={to(["endpoints", endpoint, "workers", worker])}>{T.job.wholeLog}</a>
				{" · "}
				<a href={to(["logs"], { endpoint, id })}>{T.logs.ofJob}</a>
			</p>
		</section>
	);
}
