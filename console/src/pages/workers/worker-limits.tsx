/** How many workers each endpoint has and may have, and when they stop: below the workers of all endpoints. */
import type { ReactNode } from "react";
import { ask } from "../../client/api.ts";
import { duration, number } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Refusal } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { to } from "../../client/router.ts";
import type { Endpoint, Overview } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { present } from "../../values/totals.ts";
import { Health } from "../overview/attention.tsx";

interface Row {
	overview: Overview;
	/** Undefined until they are loaded. */
	settings: Endpoint | undefined;
}

export function WorkerLimits({ endpoints }: { endpoints: readonly Overview[] }): ReactNode {
	const ids = endpoints.map(({ id }) => id).join(" ");
	const { data, failure, reload } = useLoad(`limits ${ids}`, async (signal) => {
		const found = await ask<{ endpoints: Endpoint[] }>("v1/endpoints", { signal });
		return found.endpoints;
	});
	if (endpoints.length === 0) return null;
	const rows = endpoints.map((overview) => ({ overview, settings: data?.find(({ id }) => id === overview.id) }));
	return (
		<section className="card flush">
			<header className="section-head inset">
				<h2>{T.workers.limits}</h2>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			<Table label={T.workers.limits} columns={COLUMNS} rows={rows} id={({ overview }) => overview.id} />
		</section>
	);
}

const COLUMNS: readonly Column<Row>[] = [
	{
		name: T.webhooks.endpoint,
		main: true,
		cell: ({ overview: { id, name, health } }) => (
			<span className="name-cell">
				<a href={to(["endpoints", id, "workers"])}>{name}</a>
				{name === id ? null : <code className="muted">{id}</code>}
				<Health state={health.state} />
			</span>
		),
	},
	{
		name: T.pages.workers,
		cell: ({ overview, settings }) => {
			const now = present(overview.workers);
			if (settings === undefined) return number(now);
			if (settings.launcher.type === "external") return T.workers.attached(number(now));
			return (
				<span className="use-cell">
					{T.hosts.of(number(now), number(settings.workersMax))}
					<meter className="use" aria-label={T.workers.limits} value={now} max={Math.max(1, settings.workersMax)} />
				</span>
			);
		},
	},
	{ name: T.overview.queue, end: true, cell: ({ overview: { queue } }) => number(queue.inQueue) },
	{
		name: T.workers.always,
		end: true,
		cell: ({ settings }) => launched(settings, ({ workersMin }) => number(workersMin)),
	},
	{
		name: T.settings.names.idleTimeout,
		end: true,
		cell: ({ settings }) => launched(settings, ({ idleTimeout }) => duration(1000 * idleTimeout)),
	},
	{
		name: T.settings.names.gpusPerWorker,
		end: true,
		cell: ({ settings }) =>
			launched(settings, ({ gpusPerWorker }) => (gpusPerWorker > 0 ? number(gpusPerWorker) : null)),
	},
	{
		name: T.tabs.settings,
		silent: true,
		end: true,
		cell: ({ overview: { id } }) => <a href={to(["endpoints", id, "settings"])}>{T.tabs.settings}</a>,
	},
];

/** What holds for workers that the service starts. */
function launched(settings: Endpoint | undefined, of: (settings: Endpoint) => ReactNode): ReactNode {
	return settings === undefined || settings.launcher.type === "external" ? null : of(settings);
}
