/** A job that was just sent: its state, its stream, its result. */
import type { ReactNode } from "react";
import { useAct } from "../../parts/act.ts";
import { ask } from "../../client/api.ts";
import { duration, short } from "../../text/format.ts";
import { Button } from "../../parts/button.tsx";
import { WaitReason } from "../../parts/crash.tsx";
import { ErrorView } from "../../parts/error-view.tsx";
import { JsonView } from "../../parts/values/json-view.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { StreamView } from "../../parts/values/stream-view.tsx";
import { ValueView } from "../../parts/values/value-view.tsx";
import { Since } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { T } from "../../text/text.ts";
import { isOver, useJob } from "./use-job.ts";

export function Outcome({
	endpoint,
	job: id,
	textFirst = false,
}: {
	endpoint: string;
	job: string;
	/** Begins with the text of the output, if it has one; its JSON is another view. */
	textFirst?: boolean;
}): ReactNode {
	const { run } = useAct();
	const { data: job, failure, reload } = useJob(endpoint, id);
	if (!job) return failure ? <Refusal failure={failure} again={reload} /> : <Loading />;
	const over = isOver(job);
	const cancel = (): Promise<boolean> =>
		run(async () => {
			await ask(`v2/${encodeURIComponent(endpoint)}/cancel/${encodeURIComponent(id)}`, {
				method: "POST",
			});
			reload();
		}, T.job.cancelled);
	return (
		<div className="stack">
			<header className="section-head">
				<span className="page-title" role="status">
					<Status state={job.status} />
					<a className="mono" href={to(["endpoints", endpoint, "requests", id])} title={id}>
						{short(id)}
					</a>
				</span>
				{over ? (
					<span className="muted">{T.try.times(duration(job.delayTime), duration(job.executionTime))}</span>
				) : (
					<Button look="quiet" icon="stop" onPress={() => void cancel()}>
						{T.job.cancel}
					</Button>
				)}
			</header>
			{job.reason ? <WaitReason endpoint={endpoint} reason={job.reason} reload={reload} /> : null}
			{over ? null : (
				<p className="muted">
					{job.status === "IN_QUEUE" ? T.try.waiting : T.try.running} <Since at={job.startedAt ?? job.queuedAt} />
				</p>
			)}
			{job.error === undefined ? null : <ErrorView error={job.error} />}
			{over && job.chunks.written === 0 ? null : <StreamView endpoint={endpoint} job={id} onEnd={reload} />}
			{job.output === undefined ? null : (
				<Output value={job.output} streamed={job.chunks.written > 0} over={over} textFirst={textFirst} />
			)}
		</div>
	);
}

/** Folded where the stream has shown it piece by piece. */
function Output({
	value,
	streamed,
	over,
	textFirst,
}: {
	value: unknown;
	streamed: boolean;
	over: boolean;
	textFirst: boolean;
}): ReactNode {
	const view =
		textFirst && over ? (
			<ValueView value={value} label={T.job.output} textFirst />
		) : (
			<JsonView value={value} label={over ? T.job.output : T.job.progress} />
		);
	if (!streamed || !over) return view;
	return (
		<details className="fold">
			<summary>{T.job.output}</summary>
			{view}
		</details>
	);
}
