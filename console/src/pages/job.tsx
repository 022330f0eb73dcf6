/** One job: where it stands and why, what happened to it, what went in and what came out. */
import { type ReactNode, useState } from "react";
import { useAct } from "../act.ts";
import { ask } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Copy } from "../parts/copy.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { WaitReason } from "../parts/crash.tsx";
import { ErrorView } from "../parts/error-view.tsx";
import { LogView } from "../parts/log-view.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { Status } from "../parts/status.tsx";
import { StreamView } from "../parts/stream-view.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { ValueView } from "../parts/value-view.tsx";
import { to } from "../router.ts";
import { useMay } from "../session.tsx";
import type { JobDetail } from "../shapes.ts";
import { T } from "../text.ts";
import { isOver, useJob } from "../use-job.ts";
import { CompareDialog } from "./compare.tsx";
import { JobDeliveries } from "./deliveries.tsx";
import { JobCode } from "./job-code.tsx";
import { Facts } from "./job-facts.tsx";

export function JobPage({ endpoint, id }: { endpoint: string; id: string }): ReactNode {
	const { data: job, failure, reload } = useJob(endpoint, id);
	if (!job) return failure ? <Refusal failure={failure} again={reload} /> : <Loading />;
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
			<div className="job-grid">
				<div className="stack">
					<Facts endpoint={endpoint} job={job} />
					<Timeline job={job} />
				</div>
				<div className="stack">
					{job.output === undefined ? null : (
						<section className="card">
							<h2>{job.status === "IN_PROGRESS" ? T.job.progress : T.job.output}</h2>
							<ValueView value={job.output} label={T.job.output} />
						</section>
					)}
					<Stream endpoint={endpoint} job={job} reload={reload} />
					{job.input === undefined ? null : (
						<section className="card">
							<h2>{T.job.input}</h2>
							<ValueView value={job.input} label={T.job.input} />
						</section>
					)}
					{job.expired ? <p className="muted">{T.job.expired}</p> : null}
					<Logs endpoint={endpoint} job={job} />
					{job.webhook === undefined ? null : <JobDeliveries endpoint={endpoint} job={id} change={job.status} />}
					<JobCode endpoint={endpoint} job={job} />
				</div>
			</div>
		</article>
	);
}

function JobHead({ endpoint, job, reload }: { endpoint: string; job: JobDetail; reload: () => void }): ReactNode {
	const [cancelling, setCancelling] = useState(false);
	const [comparing, setComparing] = useState(false);
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
				<Button icon="list" onPress={() => setComparing(true)}>
					{T.compare.open}
				</Button>
				{write && job.input !== undefined ? (
					<a className="button plain" href={to(["endpoints", endpoint, "try"], { like: job.id })}>
						{T.job.again}
					</a>
				) : null}
			</div>
			{comparing ? <CompareDialog endpoint={endpoint} job={job.id} close={() => setComparing(false)} /> : null}
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
function Logs({ endpoint, job: { id, attempts } }: { endpoint: string; job: JobDetail }): ReactNode {
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
				{T.job.onlyIts} <a href={to(["endpoints", endpoint, "workers", worker])}>{T.job.wholeLog}</a>
			</p>
		</section>
	);
}
