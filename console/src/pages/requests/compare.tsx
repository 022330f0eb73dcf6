/** Two jobs side by side: state and times, pictures, and what differs in input, output and error. */
import { type ReactNode, useMemo } from "react";
import { diffOf } from "../../values/diff.ts";
import { pretty } from "../../text/exact.ts";
import { duration, short } from "../../text/format.ts";
import { mediaIn, mediaOf } from "../../values/media.ts";
import { listAddress } from "../../values/jobs/job-order.ts";
import { LongText } from "../../parts/values/long-text.tsx";
import { mediaText, MediaView } from "../../parts/values/media-view.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Status } from "../../parts/status.tsx";
import { Ago } from "../../parts/time.tsx";
import { to, usePlace } from "../../client/router.ts";
import type { JobDetail } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { useJob } from "../job/use-job.ts";

/** The page that compares two jobs; `from`: the one of them from whose page one comes, else one comes from the list. */
export function comparison(endpoint: string, left: string, right: string, from?: string): string {
	return to(["endpoints", endpoint, "requests", left], { with: right, from });
}

export function ComparePage({ endpoint, left, right }: { endpoint: string; left: string; right: string }): ReactNode {
	const [a, b] = [useJob(endpoint, left), useJob(endpoint, right)];
	const { query } = usePlace();
	const from = [left, right].find((id) => id === query.get("from"));
	const failed = a.failure ? a : b.failure ? b : undefined;
	if (failed?.failure) return <Refusal failure={failed.failure} again={failed.reload} />;
	if (!a.data || !b.data) return <Loading />;
	return (
		<article className="job">
			<header className="job-page-head">
				<nav className="job-moves" aria-label={T.tabs.requests}>
					<a
						className="quiet"
						href={from === undefined ? listAddress(endpoint) : to(["endpoints", endpoint, "requests", from])}
					>
						← {from === undefined ? T.job.back : T.requests.untitled(short(from))}
					</a>
				</nav>
				<div className="job-head">
					<h2>{T.compare.title}</h2>
					<div className="actions">
						<a className="button plain" href={comparison(endpoint, right, left, from)}>
							{T.compare.swap}
						</a>
					</div>
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
		[T.requests.submitted, ({ submittedAt }) => <Ago at={submittedAt} />],
		[T.requests.delay, ({ delayTime }) => duration(delayTime)],
		[T.requests.execution, ({ startedAt, executionTime }) => (startedAt === undefined ? "–" : duration(executionTime))],
		[T.requests.worker, ({ workerId }) => workerId ?? "–"],
		[T.releases.version, ({ release }) => release ?? "–"],
		[T.compare.attempts, ({ attempts }) => attempts.length],
	];
	return (
		<section className="card flush object-table job-facts">
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
			<div className="stack">
				<Media left={left} right={right} />
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
									<LongText text={withoutMedia(line.text)} most={SHOWN_CHARS}>
										{(shown) => <code>{shown || " "}</code>}
									</LongText>
								</span>
							</li>
						))}
					</ol>
				)}
			</div>
		</section>
	);
}

/** Pictures and sounds of both jobs next to each other; once where they are the same. */
function Media({ left, right }: { left: unknown; right: unknown }): ReactNode {
	const [a, b] = useMemo(() => [mediaIn(left), mediaIn(right)], [left, right]);
	if (a.length + b.length === 0) return null;
	if (a.length === b.length && a.every(({ path, media }, at) => path === b[at]!.path && media.url === b[at]!.media.url))
		return <MediaView items={a} />;
	return (
		<div className="compare-media">
			{([a, b] as const).map((items, at) => {
				const side = at === 0 ? "left" : "right";
				return (
					<div key={side} className={side}>
						<span aria-hidden="true">{MARKS[side]}</span>
						<span className="hidden">{T.compare[side]}</span>
						{items.length === 0 ? <p className="muted">{T.compare.noMedia}</p> : <MediaView items={items} />}
					</div>
				);
			})}
		</div>
	);
}

/** A line of JSON with a few words in place of a picture or sound, which stands above. */
function withoutMedia(line: string): string {
	const whole = mediaOf(line);
	if (whole) return `(${mediaText(whole)})`;
	return line.replace(/"([\w+/:;,=.-]{60,})"/, (text, inside: string) => {
		const media = mediaOf(inside);
		return media ? `(${mediaText(media)})` : text;
	});
}

/** Characters of a line that are shown at first. */
const SHOWN_CHARS = 400;

const MARKS = { both: " ", left: "−", right: "+" } as const;

/** Indented JSON without the commas at the ends of lines, which follow what comes after; a text as its lines. */
function linesOf(value: unknown): string {
	return value === undefined ? "" : typeof value === "string" ? value : pretty(value).replace(/,$/gm, "");
}
