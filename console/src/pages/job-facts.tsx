/** What is known of a job beside its texts. */
import type { ReactNode } from "react";
import { duration } from "../format.ts";
import { Ago, At, Since } from "../parts/time.tsx";
import { to } from "../router.ts";
import type { JobDetail } from "../shapes.ts";
import { T } from "../text.ts";

export function Facts({ endpoint, job }: { endpoint: string; job: JobDetail }): ReactNode {
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
			value: runs ? <Since at={job.startedAt!} /> : job.startedAt === undefined ? "–" : duration(job.executionTime),
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
