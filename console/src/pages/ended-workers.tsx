/** Workers that have ended: when, how, and what they wrote last. */
import type { ReactNode } from "react";
import { useNow } from "../clock.ts";
import { duration, number } from "../format.ts";
import { LastLines } from "../parts/crash.tsx";
import { Badge } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { to } from "../router.ts";
import { useMay } from "../session.tsx";
import type { EndedWorker } from "../shapes.ts";
import { T } from "../text.ts";

export interface EndedRow extends EndedWorker {
	endpoint: string;
}

export function EndedWorkers({
	rows,
	everywhere = false,
}: {
	rows: readonly EndedRow[];
	everywhere?: boolean;
}): ReactNode {
	const admin = useMay("admin");
	if (rows.length === 0) return null;
	const columns: Column<EndedRow>[] = [
		{
			name: T.workers.worker,
			main: true,
			cell: ({ id, endpoint }) =>
				admin ? (
					<a className="mono" href={to(["endpoints", endpoint, "workers", id])}>
						{id}
					</a>
				) : (
					<span className="mono">{id}</span>
				),
		},
		...(everywhere
			? [
					{
						name: T.webhooks.endpoint,
						cell: ({ endpoint }: EndedRow) => (
							<a className="quiet" href={to(["endpoints", endpoint, "workers"])}>
								{endpoint}
							</a>
						),
					},
				]
			: []),
		{ name: T.ended.how, cell: How },
		{ name: T.ended.at, cell: ({ endedAt }) => <Ago at={endedAt} /> },
		{
			name: T.ended.lived,
			end: true,
			cell: ({ createdAt, endedAt }) => duration(new Date(endedAt).getTime() - new Date(createdAt).getTime()),
		},
		{
			name: T.workers.launcher,
			cell: ({ launcher, host }) => (
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
				<LastDay rows={rows} />
			</header>
			<Table label={T.ended.title} columns={columns} rows={rows} id={({ endpoint, id }) => `${endpoint}/${id}`} />
		</section>
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

function How({ endpoint, ...worker }: EndedRow): ReactNode {
	const { code, message, lastOutput } = worker;
	return (
		<div className="how">
			<p>
				{code === undefined ? null : <Badge tone="bad">{code}</Badge>} {message}
			</p>
			{lastOutput ? (
				<details className="fold">
					<summary>{T.ended.lines}</summary>
					<LastLines endpoint={endpoint} worker={worker} />
				</details>
			) : null}
		</div>
	);
}
