/** The causes of the last failures of all endpoints, each leading to its jobs. */
import type { ReactNode } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { groupsOf } from "../../values/error-groups.ts";
import { number } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Ago } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import type { JobList } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { type EndpointRow, failedOf } from "../../values/totals.ts";

const PACE_MS = 15_000;
/** Endpoints whose failures are read, failures of each, and groups that are shown. */
const [MOST_ENDPOINTS, MOST_READ, SHOWN] = [4, 50, 5];
const FAILED = "FAILED,TIMED_OUT";

export function LastFailures({
	rows,
	span: { ms },
	change,
}: {
	rows: readonly EndpointRow[];
	span: { ms: number };
	change: unknown;
}): ReactNode {
	const failing = rows
		.filter(({ totals }) => totals && failedOf(totals) > 0)
		.toSorted((a, b) => failedOf(b.totals!) - failedOf(a.totals!))
		.slice(0, MOST_ENDPOINTS)
		.map(({ overview: { id, name } }) => ({ id, name }));
	const { data } = useLoad(
		`${ms} ${failing.map(({ id }) => id).join(" ")}`,
		async (signal) => {
			const query = search({ status: FAILED, from: new Date(now() - ms).toISOString(), limit: MOST_READ });
			const all = await Promise.all(
				failing.map(async ({ id, name }) => {
					const { jobs } = await ask<JobList>(ofEndpoint(id, `/jobs${query}`), { signal });
					return groupsOf(jobs).map((group) => ({ ...group, id, name }));
				}),
			);
			return all
				.flat()
				.toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : -1))
				.slice(0, SHOWN);
		},
		{ change, keep: true, pace: () => PACE_MS },
	);
	return (
		<section className="card">
			<h2>{T.overview.lastFailures}</h2>
			{data === undefined || data.length === 0 ? (
				<p className="muted">{data === undefined ? T.loading : T.overview.noFailures}</p>
			) : (
				<ul className="facts-list">
					{data.map(({ id, name, message, common, jobs, lastAt }) => (
						<li key={`${id} ${message}`}>
							<a
								className="line bad"
								title={message}
								href={to(["endpoints", id, "requests"], { status: FAILED, search: common })}
							>
								{message}
							</a>
							<span className="muted">
								{name} · {T.overview.failed(number(jobs.length))} · <Ago at={lastAt} />
							</span>
						</li>
					))}
				</ul>
			)}
		</section>
	);
}
