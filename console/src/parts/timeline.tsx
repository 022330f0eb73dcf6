/** What happened to a job: its waits and runs to scale, and every event with its time to the ms. */
import type { ReactNode } from "react";
import { useNow } from "../clock.ts";
import { duration, moment, timeOfDay } from "../format.ts";
import type { JobDetail } from "../shapes.ts";
import { spansOf } from "../spans.ts";
import { T } from "../text.ts";
import { toneOf } from "./status.tsx";

export function Timeline({ job }: { job: JobDetail }): ReactNode {
	const open = job.attempts.filter((attempt) => attempt.open && attempt.end !== "running");
	const began = new Date(job.submittedAt).getTime();
	return (
		<section className="card">
			<h2>{T.job.timeline}</h2>
			<Scale job={job} />
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
			{open.map(({ attempt, workerId }) => (
				<p key={attempt} className="hint">
					{T.job.open(attempt, workerId)}
				</p>
			))}
		</section>
	);
}

/** Waits and runs side by side, as long as they took. */
function Scale({ job }: { job: JobDetail }): ReactNode {
	const isOver = job.endedAt !== undefined;
	const now = useNow(isOver ? 60_000 : 1000);
	const spans = spansOf(job, now);
	const whole = spans.reduce((sum, { ms }) => sum + ms, 0);
	if (whole <= 0) return null;
	const nameOf = ({ kind, attempt, ms }: (typeof spans)[number]): string =>
		kind === "wait" ? T.job.waited(duration(ms)) : T.job.ran(attempt, duration(ms));
	return (
		<div className="scale">
			<div className="scale-bar" role="img" aria-label={spans.map(nameOf).join(", ")}>
				{spans.map((span) => (
					<span
						key={span.from}
						className={`tone-${span.kind === "wait" ? "wait" : toneOf(span.end)}`}
						style={{ flexGrow: span.ms / whole }}
						title={nameOf(span)}
					/>
				))}
			</div>
			<p className="scale-ends muted">
				<span>0</span>
				<span>{duration(whole)}</span>
			</p>
		</div>
	);
}
