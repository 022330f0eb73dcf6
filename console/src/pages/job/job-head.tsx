/** The head of a job's page: what it is about, its state, what is done with it, and the ways to others. */
import { type ReactNode, useMemo, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { ask } from "../../client/api.ts";
import { useNeighbours } from "../../values/jobs/job-order.ts";
import { titleOf } from "../../values/jobs/job-title.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Status } from "../../parts/status.tsx";
import { go, to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { JobDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { isOver } from "./use-job.ts";
import { useKeys } from "../../client/use-keys.ts";
import { CompareDialog } from "../requests/compare-dialog.tsx";

export function JobHead({
	endpoint,
	job,
	reload,
}: {
	endpoint: string;
	job: JobDetail;
	reload: () => void;
}): ReactNode {
	const { title, media } = useMemo(() => titleOf(job.input), [job.input]);
	return (
		<header className="job-page-head">
			<Moves endpoint={endpoint} job={job} />
			<div className="job-head">
				<div className="job-about">
					<div className="page-title">
						<h2 className="line">{title ?? (media ? T.requests.media[media.kind](media.type) : T.job.noTitle)}</h2>
						<Status state={job.status} />
					</div>
					<span className="job-id-line muted">
						<span className="mono job-id">{job.id}</span>
						<Copy text={job.id} name={T.job.copyId} />
					</span>
				</div>
				<Acts endpoint={endpoint} job={job} reload={reload} />
			</div>
		</header>
	);
}

/** Back to the list, and to its other jobs. */
function Moves({ endpoint, job }: { endpoint: string; job: JobDetail }): ReactNode {
	const { newer, older, back } = useNeighbours(endpoint, job);
	const show = (id: string | undefined): void => {
		if (id !== undefined) go(to(["endpoints", endpoint, "requests", id]), true);
	};
	useKeys((key) => {
		if (key === "j") show(older);
		else if (key === "k") show(newer);
	});
	return (
		<nav className="job-moves" aria-label={T.tabs.requests}>
			<a className="quiet" href={back}>
				← {T.job.back}
			</a>
			<span>
				<IconButton name={T.job.newer} icon="left" disabled={newer === undefined} onPress={() => show(newer)} />
				<IconButton name={T.job.older} icon="right" disabled={older === undefined} onPress={() => show(older)} />
			</span>
		</nav>
	);
}

function Acts({ endpoint, job, reload }: { endpoint: string; job: JobDetail; reload: () => void }): ReactNode {
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
		<div className="actions">
			{write && !isOver(job) ? (
				<Button icon="stop" onPress={() => setCancelling(true)}>
					{T.job.cancel}
				</Button>
			) : null}
			{write && retryable ? (
				<Button look="main" icon="retry" busy={busy} onPress={() => void retry()}>
					{T.job.retry}
				</Button>
			) : null}
			{write && job.input !== undefined ? (
				<a className="button plain" href={to(["endpoints", endpoint, "try"], { like: job.id })}>
					{T.job.again}
				</a>
			) : null}
			<Button onPress={() => setComparing(true)}>{T.compare.open}</Button>
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
		</div>
	);
}
