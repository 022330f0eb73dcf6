/** Why jobs wait or workers are missing: the last lines of the worker that crashed, and what to do. */
import type { ReactNode } from "react";
import { useAct } from "./act.ts";
import { ask, ofEndpoint } from "../client/api.ts";
import { withProgress } from "../text/format.ts";
import { to } from "../client/router.ts";
import { useMay } from "../client/session.ts";
import type { EndedWorker, JobDetail, WorkerReason } from "../client/shapes.ts";
import { T } from "../text/text.ts";
import { Button } from "./button.tsx";
import { Since, Until } from "./time.tsx";

/** `title` stands before it, `children` behind. */
export function WaitReason({
	endpoint,
	reason,
	reload,
	title,
	children,
}: {
	endpoint: string;
	reason: (WorkerReason & { worker?: EndedWorker }) | NonNullable<JobDetail["reason"]>;
	reload: () => void;
	title?: string;
	children?: ReactNode;
}): ReactNode {
	const worker = "worker" in reason ? reason.worker : undefined;
	return (
		<div className={reason.retryAt === undefined && !worker ? "reason" : "reason crashed"}>
			<p role="status">
				{title === undefined ? null : <b>{title} </b>}
				{withProgress(reason)}{" "}
				{"since" in reason && reason.since !== undefined ? (
					<span className="muted">
						<Since at={reason.since} />{" "}
					</span>
				) : null}
				{children} <code>{reason.code}</code>
			</p>
			{"lastLine" in reason && reason.lastLine && !worker?.lastOutput ? (
				<p>
					<code className="break">{reason.lastLine}</code>
				</p>
			) : null}
			{worker ? <LastLines endpoint={endpoint} worker={worker} /> : null}
			{reason.retryAt === undefined && !worker ? null : (
				<StartNow endpoint={endpoint} retryAt={reason.retryAt} reload={reload} />
			)}
		</div>
	);
}

/** The last lines of a worker that has ended, and where all are. */
export function LastLines({
	endpoint,
	worker: { id, lastOutput },
}: {
	endpoint: string;
	worker: EndedWorker;
}): ReactNode {
	const admin = useMay("admin");
	if (!admin) return null;
	return (
		<>
			{lastOutput ? (
				// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
				<pre className="last-lines" tabIndex={0} aria-label={T.ended.lastLines(id)}>
					{lastOutput}
				</pre>
			) : (
				<p className="muted">{T.ended.noLines}</p>
			)}
			<p>
				<a href={to(["endpoints", endpoint, "workers", id])}>{T.ended.wholeLog(id)}</a>
			</p>
		</>
	);
}

/** Ends the pause of starts after a crash. */
export function StartNow({
	endpoint,
	retryAt,
	reload,
}: {
	endpoint: string;
	retryAt: string | undefined;
	reload: () => void;
}): ReactNode {
	const admin = useMay("admin");
	const { busy, run } = useAct();
	const start = async (): Promise<void> => {
		const started = await run(() => ask(ofEndpoint(endpoint, "/workers/start"), { method: "POST" }), T.ended.startsNow);
		if (started) reload();
	};
	return (
		<div className="actions">
			{retryAt === undefined ? null : (
				<span className="muted">
					{T.ended.nextStart} <Until at={retryAt} />
				</span>
			)}
			{admin ? (
				<Button icon="play" busy={busy} onPress={() => void start()}>
					{T.ended.startNow}
				</Button>
			) : null}
		</div>
	);
}
