/** What is known of a job next to its texts: the most important on one line, the rest folded. */
import type { ReactNode } from "react";
import { duration, percent } from "../../text/format.ts";
import { Ago, At, Since } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { JobDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

interface Fact {
	name: string;
	value: ReactNode;
}

export function Facts({ endpoint, job }: { endpoint: string; job: JobDetail }): ReactNode {
	const waits = job.status === "IN_QUEUE";
	const runs = job.status === "IN_PROGRESS" && job.startedAt !== undefined;
	const whole = job.delayTime + job.executionTime;
	return (
		<section className="fact-strip" aria-label={T.job.facts}>
			<List
				facts={[
					{
						name: T.requests.submitted,
						value: (
							<>
								<At at={job.submittedAt} />{" "}
								<span className="muted">
									<Ago at={job.submittedAt} />
								</span>
							</>
						),
					},
					{
						name: T.requests.delay,
						value: waits ? (
							<Since at={job.queuedAt} />
						) : (
							<>
								{duration(job.delayTime)}{" "}
								{whole > 0 && job.endedAt !== undefined ? (
									<span className="muted">{T.job.share(percent(Math.round((job.delayTime / whole) * 100) / 100))}</span>
								) : null}
							</>
						),
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
					{ name: T.job.attempts, value: job.attempts.length },
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
					{ name: T.releases.version, value: job.release },
				]}
			/>
		</section>
	);
}

/** Its policy and the rest. */
export function MoreFacts({ job }: { job: JobDetail }): ReactNode {
	return (
		<details className="card fold">
			<summary>{T.job.facts}</summary>
			<List
				facts={[
					{ name: T.job.operation, value: <code>/{job.operation}</code> },
					{ name: T.job.requestId, value: job.requestId === undefined ? undefined : <LogsOf id={job.requestId} /> },
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
				]}
			/>
		</details>
	);
}

/** A request id, as a link to what the service wrote about it. */
function LogsOf({ id }: { id: string }): ReactNode {
	return useMay("admin") ? (
		<a className="break" href={to(["logs"], { id, lines: "service" })}>
			{id}
		</a>
	) : (
		id
	);
}

function List({ facts }: { facts: readonly Fact[] }): ReactNode {
	return (
		<dl className="facts">
			{facts
				.filter(({ value }) => value !== undefined)
				.map(({ name, value }) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
		</dl>
	);
}
