/** Two jobs side by side: state and times, and what differs in input, output and error. */
import { type ReactNode, useMemo, useState } from "react";
import { ask, ofEndpoint, search } from "../api.ts";
import { diffOf } from "../diff.ts";
import { pretty } from "../exact.ts";
import { duration, moment, short } from "../format.ts";
import { firstLine, previewOf } from "../job-error.ts";
import { jobIdOf } from "../job-id.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { LongText } from "../parts/long-text.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { Status } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import type { JobDetail, JobList } from "../shapes.ts";
import { T } from "../text.ts";
import { useJob } from "../use-job.ts";

/** The page that compares two jobs. */
export function comparison(endpoint: string, left: string, right: string): string {
	return to(["endpoints", endpoint, "requests", left], { with: right });
}

/** Asks which job it is compared with: one of the last, or one by its id. */
export function CompareDialog({
	endpoint,
	job,
	close,
}: {
	endpoint: string;
	job: string;
	close: () => void;
}): ReactNode {
	const [id, setId] = useState("");
	const whole = jobIdOf(id);
	const path = ofEndpoint(endpoint, `/jobs${search({ limit: 20, expired: "true", preview: "true" })}`);
	const { data, failure } = useLoad(path, (signal) => ask<JobList>(path, { signal }));
	return (
		<Dialog title={T.compare.title} close={close} wide>
			<form
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					if (whole !== undefined) go(comparison(endpoint, job, whole));
				}}
			>
				<div className="inline-form">
					<TextField bare label={T.compare.id} placeholder={T.compare.id} value={id} onChange={setId} mono />
					<Button look="main" disabled={whole === undefined || whole === job}>
						{T.compare.act}
					</Button>
				</div>
				{failure ? <Refusal failure={failure} /> : data ? null : <Loading />}
				<ul className="compare-list">
					{(data?.jobs ?? [])
						.filter((each) => each.id !== job)
						.map((each) => (
							<li key={each.id}>
								<a href={comparison(endpoint, job, each.id)} onClick={close}>
									<Status state={each.status} /> <code>{short(each.id)}</code> <Ago at={each.submittedAt} />
									<span className="line muted">
										{each.error === undefined ? previewOf(each.inputPreview ?? "") : firstLine(each.error)}
									</span>
								</a>
							</li>
						))}
				</ul>
			</form>
		</Dialog>
	);
}

export function ComparePage({ endpoint, left, right }: { endpoint: string; left: string; right: string }): ReactNode {
	const [a, b] = [useJob(endpoint, left), useJob(endpoint, right)];
	const failed = a.failure ? a : b.failure ? b : undefined;
	if (failed?.failure) return <Refusal failure={failed.failure} again={failed.reload} />;
	if (!a.data || !b.data) return <Loading />;
	return (
		<article className="job">
			<header className="job-head">
				<h2>{T.compare.title}</h2>
				<div className="actions">
					<a className="button plain" href={comparison(endpoint, right, left)}>
						{T.compare.swap}
					</a>
				</div>
			</header>
			<Facts endpoint={endpoint} jobs={[a.data, b.data]} />
			<Difference name={T.job.input} left={a.data.input} right={b.data.input} />
			<Difference name={T.job.output} left={a.data.output} right={b.data.output} />
			<Difference name={T.job.error} left={a.data.error} right={b.data.error} />
		</article>
	);
}

function Facts({ endpoint, jobs }: { endpoint: string; jobs: readonly JobDetail[] }): ReactNode {
	const rows: readonly [string, (job: JobDetail) => ReactNode][] = [
		[T.requests.state, ({ status }) => <Status state={status} />],
		[T.requests.submitted, ({ submittedAt }) => moment(new Date(submittedAt).getTime())],
		[T.requests.delay, ({ delayTime }) => duration(delayTime)],
		[T.requests.execution, ({ startedAt, executionTime }) => (startedAt === undefined ? "–" : duration(executionTime))],
		[T.requests.worker, ({ workerId }) => workerId ?? "–"],
		[T.compare.attempts, ({ attempts }) => attempts.length],
	];
	return (
		<section className="card flush object-table">
			<table>
				<thead>
					<tr>
						<th scope="col">
							<span className="hidden">{T.job.facts}</span>
						</th>
						{jobs.map(({ id }, index) => (
							<th key={id} scope="col">
								<span aria-hidden="true">{[MARKS.left, MARKS.right][index]}</span>{" "}
								<a className="mono" href={to(["endpoints", endpoint, "requests", id])} title={id}>
									{short(id)}
								</a>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map(([name, value]) => (
						<tr key={name}>
							<th scope="row">{name}</th>
							{jobs.map((job) => (
								<td key={job.id}>{value(job)}</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

/** One text of both jobs, line by line. */
function Difference({ name, left, right }: { name: string; left: unknown; right: unknown }): ReactNode {
	const [a, b] = [linesOf(left), linesOf(right)];
	const lines = useMemo(() => (a === b ? [] : diffOf(a, b)), [a, b]);
	if (left === undefined && right === undefined) return null;
	return (
		<section className="card">
			<h2>{name}</h2>
			{lines === undefined ? (
				<p className="muted">{T.compare.tooMuch}</p>
			) : lines.length === 0 ? (
				<p className="muted">{T.compare.same}</p>
			) : (
				<ol className="diff">
					{lines.map((line, index) => (
						<li key={index} className={line.in}>
							<span aria-hidden="true">{MARKS[line.in]}</span>
							{line.in === "both" ? null : <span className="hidden">{T.compare[line.in]}</span>}
							<span>
								<LongText text={line.text} most={SHOWN_CHARS}>
									{(shown) => <code>{shown || " "}</code>}
								</LongText>
							</span>
						</li>
					))}
				</ol>
			)}
		</section>
	);
}

/** Characters of a line, which may be a picture as text. */
const SHOWN_CHARS = 400;

const MARKS = { both: " ", left: "−", right: "+" } as const;

/** Indented JSON; a text as its lines. */
function linesOf(value: unknown): string {
	return value === undefined ? "" : typeof value === "string" ? value : pretty(value);
}
