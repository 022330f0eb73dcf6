/** A job that makes pictures: its progress, then the pictures large. */
import { type ReactNode, useMemo } from "react";
import { duration, short } from "../../text/format.ts";
import { mediaIn } from "../../values/media.ts";
import { WaitReason } from "../../parts/crash.tsx";
import { ErrorView } from "../../parts/error-view.tsx";
import { JsonView } from "../../parts/values/json-view.tsx";
import { MediaView } from "../../parts/values/media-view.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { to } from "../../client/router.ts";
import { T } from "../../text/text.ts";
import { isOver, useJob } from "../job/use-job.ts";

export function PictureOutcome({
	endpoint,
	job: id,
	named,
}: {
	endpoint: string;
	job: string;
	/** Says which endpoint it is. */
	named: boolean;
}): ReactNode {
	const { data: job, failure, reload } = useJob(endpoint, id);
	const items = useMemo(() => mediaIn(job?.output), [job?.output]);
	if (!job) return <div className="card">{failure ? <Refusal failure={failure} again={reload} /> : <Loading />}</div>;
	const over = isOver(job);
	return (
		<article className="card stack" aria-label={short(id)}>
			<header className="section-head">
				<span className="page-title" role="status">
					<Status state={job.status} />
					{named ? <b>{endpoint}</b> : null}
					<a className="mono" href={to(["endpoints", endpoint, "requests", id])} title={id}>
						{short(id)}
					</a>
				</span>
				{over ? (
					<span className="muted">{T.try.times(duration(job.delayTime), duration(job.executionTime))}</span>
				) : null}
			</header>
			{job.reason ? <WaitReason endpoint={endpoint} reason={job.reason} reload={reload} /> : null}
			{job.error === undefined ? null : <ErrorView error={job.error} />}
			{items.length > 0 ? (
				<MediaView items={items} />
			) : job.output === undefined ? null : (
				<>
					{over ? <p className="muted">{T.picture.noPicture}</p> : null}
					<JsonView value={job.output} label={over ? T.job.output : T.job.progress} />
				</>
			)}
		</article>
	);
}
