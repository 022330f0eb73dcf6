/** The table of workers: state, age, present jobs, machine, use, stop. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint } from "../../client/api.ts";
import { short, withProgress } from "../../text/format.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { EndpointLink } from "../../parts/endpoint-link.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago, Since } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Worker } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { PlaceCell, UsageCell } from "./worker-usage.tsx";

export interface Row extends Worker {
	endpoint: string;
}

export function WorkerTable({
	rows,
	reload,
	everywhere = false,
}: {
	rows: readonly Row[];
	reload: () => void;
	everywhere?: boolean;
}): ReactNode {
	const [stopping, setStopping] = useState<Row | undefined>(undefined);
	const admin = useMay("admin");
	const columns: Column<Row>[] = [
		{
			name: T.workers.worker,
			main: true,
			cell: ({ id, endpoint, launcher }) =>
				admin && launcher !== "external" ? (
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
						cell: ({ endpoint }: Row) => <EndpointLink id={endpoint} page={["workers"]} />,
					},
				]
			: []),
		{ name: T.workers.state, cell: StateCell },
		{ name: T.workers.uptime, end: true, cell: ({ createdAt }) => <Since at={createdAt} /> },
		{
			name: T.workers.jobs,
			cell: ({ jobs, endpoint }) =>
				jobs.length === 0 ? null : (
					<span className="links">
						{jobs.map((job) => (
							<a key={job} className="mono" href={to(["endpoints", endpoint, "requests", job])} title={job}>
								{short(job)}
							</a>
						))}
					</span>
				),
		},
		{ name: T.workers.usage, cell: UsageCell },
		{ name: T.workers.launcher, cell: PlaceCell },
		{
			name: T.workers.sdk,
			cell: ({ version, warning }) =>
				version === undefined && warning === undefined ? null : (
					<>
						{version}
						{warning === undefined ? null : (
							<span className="warning" title={warning}>
								{" "}
								{T.workers.warning}
							</span>
						)}
					</>
				),
		},
		{ name: T.workers.seen, cell: ({ seenAt }) => <Ago at={seenAt} /> },
		...(admin
			? [
					{
						name: T.workers.stop,
						silent: true,
						end: true,
						cell: (row: Row) =>
							row.launcher === "external" || row.state === "stopping" ? null : (
								<Button look="quiet" icon="stop" onPress={() => setStopping(row)}>
									{T.workers.stop}
								</Button>
							),
					},
				]
			: []),
	];
	return (
		<section className="card flush">
			<Table
				tall
				label={T.pages.workers}
				columns={columns}
				rows={rows}
				id={({ endpoint, id }) => `${endpoint}/${id}`}
			/>
			{stopping ? (
				<Confirm
					title={T.workers.stopTitle}
					act={T.workers.stop}
					danger
					doing={async () => {
						await ask(ofEndpoint(stopping.endpoint, `/workers/${encodeURIComponent(stopping.id)}/stop`), {
							method: "POST",
						});
						reload();
					}}
					done={T.workers.stopped}
					close={() => setStopping(undefined)}
				>
					<p>{stopping.jobs.length > 0 ? T.workers.stopBusy(stopping.id) : T.workers.stopIdle(stopping.id)}</p>
				</Confirm>
			) : null}
		</section>
	);
}

/** The state, and what the worker's platform says about it. */
function StateCell({ state, reason }: Worker): ReactNode {
	return (
		<>
			<Status state={state} />
			{reason === undefined ? null : <span className="muted"> {withProgress(reason)}</span>}
		</>
	);
}
