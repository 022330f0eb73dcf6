/** Workers that have ended: when, how, how often, and what they wrote last. */
import type { ReactNode } from "react";
import { useNow } from "../../client/clock.ts";
import { duration, number } from "../../text/format.ts";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { LastLines } from "../../parts/crash.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import { T } from "../../text/text.ts";
import { type EndedGroup, endedGroups, type EndedRow } from "../overview/crash-groups.ts";

export function EndedWorkers({
	rows,
	everywhere = false,
	open,
}: {
	rows: readonly EndedRow[];
	everywhere?: boolean;
	/** Whether the last lines of crashes are unfolded: not where the page shows them already. */
	open: boolean;
}): ReactNode {
	const columns: Column<EndedGroup>[] = [
		{
			name: T.workers.worker,
			main: true,
			cell: ({ workers }) => (
				<>
					<WorkerLink row={workers[0]!} />
					{workers.length === 1 ? null : (
						<details className="fold more-workers">
							<summary>{T.ended.andMore(number(workers.length - 1))}</summary>
							<ul>
								{workers.slice(1).map((row) => (
									<li key={row.id}>
										<WorkerLink row={row} /> <Ago at={row.endedAt} />
									</li>
								))}
							</ul>
						</details>
					)}
				</>
			),
		},
		...(everywhere
			? [
					{
						name: T.webhooks.endpoint,
						cell: ({ newest: { endpoint } }: EndedGroup) => <EndpointLink id={endpoint} page={["workers"]} />,
					},
				]
			: []),
		{ name: T.ended.how, cell: (group) => <How group={group} open={open} /> },
		{ name: T.ended.at, cell: ({ newest: { endedAt } }) => <Ago at={endedAt} /> },
		{ name: T.ended.lived, end: true, cell: lifetimes },
		{
			name: T.workers.launcher,
			cell: ({ newest: { launcher, host } }) => (
				<>
					{launcher}
					{host === undefined ? null : <span className="muted"> {host}</span>}
				</>
			),
		},
	];
	return (
		<section className="card flush">
			<header className="section-head inset">
				<h2>{T.ended.title}</h2>
				{rows.length === 0 ? null : <LastDay rows={rows} />}
			</header>
			{rows.length === 0 ? (
				<p className="muted padded">{T.ended.none}</p>
			) : (
				<Table
					label={T.ended.title}
					columns={columns}
					rows={endedGroups(rows)}
					id={({ workers }) => `${workers.at(-1)!.endpoint}/${workers.at(-1)!.id}`}
				/>
			)}
		</section>
	);
}

function WorkerLink({ row: { id, endpoint } }: { row: EndedRow }): ReactNode {
	const admin = useMay("admin");
	if (!admin) return <span className="mono">{id}</span>;
	return (
		<a className="mono" href={to(["endpoints", endpoint, "workers", id])}>
			{id}
		</a>
	);
}

const DAY_MS = 86_400_000;

/** How often workers were replaced. */
function LastDay({ rows }: { rows: readonly EndedRow[] }): ReactNode {
	const from = useNow(DAY_MS / 1440) - DAY_MS;
	const recent = rows.filter(({ endedAt }) => new Date(endedAt).getTime() >= from);
	const crashed = recent.filter(({ code }) => code !== undefined);
	return <p className="muted">{T.ended.lastDay(number(recent.length), crashed.length)}</p>;
}

/** From the shortest to the longest. */
function lifetimes({ workers }: EndedGroup): string {
	const times = workers.map(({ createdAt, endedAt }) => new Date(endedAt).getTime() - new Date(createdAt).getTime());
	const [least, most] = [Math.min(...times), Math.max(...times)].map(duration);
	return least === most ? least! : `${least} – ${most}`;
}

function How({ group, open }: { group: EndedGroup; open: boolean }): ReactNode {
	const { code, message, lastOutput, endpoint } = group.newest;
	return (
		<div className="how">
			<p>
				{code === undefined ? null : <Badge tone="bad">{code}</Badge>} {message} <Times group={group} />
			</p>
			{lastOutput ? (
				<details className="fold" open={open && code !== undefined}>
					<summary>{T.ended.lines}</summary>
					<LastLines endpoint={endpoint} worker={group.newest} />
				</details>
			) : null}
		</div>
	);
}

/** How often, and since when; nothing of a single one. */
export function Times({ group: { workers, since } }: { group: EndedGroup }): ReactNode {
	const now = useNow(60_000);
	if (workers.length === 1) return null;
	const span = duration(Math.max(60_000, Math.round((now - new Date(since).getTime()) / 60_000) * 60_000));
	return <b>{T.ended.times(number(workers.length), span)}</b>;
}
