/** An endpoint: what stands above all its pages, and which of them is shown. */
import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, ofEndpoint } from "../../client/api.ts";
import { useFeed, useOverview } from "../../client/feed.ts";
import { lazyPage } from "../../parts/lazy-page.ts";
import { useLoad } from "../../client/load.ts";
import { Boundary } from "../../parts/boundary.tsx";
import { Button } from "../../parts/button.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { ComparePage } from "../requests/compare.tsx";
import { ConnectPage } from "./connect.tsx";
import { ENDPOINT_PAGES } from "../../parts/page-list.ts";
import { JobPage } from "../job/job.tsx";
import { hasHttp } from "../../modules/http-workers/http-server.ts";
import { ServerLine } from "../../modules/http-workers/server-line.tsx";
import { PurgeQueue } from "../requests/purge-queue.tsx";
import { RequestsPage } from "../requests/requests.tsx";
import { SettingsPage } from "../settings/page.tsx";
import { TryPage } from "../try/page.tsx";
import { WorkersPage } from "../workers/workers.tsx";

const ChartsPage = lazyPage(() => import("./charts.tsx"));
const BatchesPage = lazyPage(() => import("../../modules/batches/batches.tsx"));
const BatchPage = lazyPage(() => import("../../modules/batches/batch.tsx"));
const FilesPage = lazyPage(() => import("../../modules/files/files.tsx"));

/** Pages that have one for each of their rows. */
const WITH_PAGES: readonly string[] = ["requests", "batches"];

export default function EndpointPage({ id, path }: { id: string; path: readonly string[] }): ReactNode {
	const overview = useOverview(id);
	const { live } = useFeed();
	const {
		data: endpoint,
		failure,
		reload,
		show,
	} = useLoad(id, (signal) => ask<Endpoint>(ofEndpoint(id), { signal }), {
		change: `${overview?.paused} ${overview?.name}`,
	});
	const [tab = "charts", rest] = path;
	const other = usePlace().query.get("with");
	const tabs = useRef<HTMLElement>(null);
	const loaded = endpoint !== undefined;
	useEffect(() => {
		const nav = tabs.current;
		if (!nav) return undefined;
		const size = new ResizeObserver(() => centre(nav));
		size.observe(nav);
		return () => size.disconnect();
	}, [tab, loaded]);
	if (failure && !endpoint) return <Refusal failure={failure} again={reload} />;
	if (!endpoint) return <Loading />;
	return (
		<>
			<Head
				endpoint={endpoint}
				paused={overview?.paused ?? endpoint.paused}
				waiting={overview?.queue.inQueue ?? endpoint.jobs.inQueue}
				reload={reload}
				live={live}
				acts={tab !== "requests" || rest === undefined}
			/>
			{hasHttp(endpoint) ? <ServerLine id={id} change={endpoint} /> : null}
			<nav className="tabs" aria-label={T.menu.endpoint} ref={tabs}>
				{ENDPOINT_PAGES.map((page) => (
					<a
						key={page.path}
						href={to(["endpoints", id, page.path])}
						aria-current={tab === page.path ? "page" : undefined}
					>
						{page.name}
					</a>
				))}
			</nav>
			<Boundary key={WITH_PAGES.includes(tab) ? `${tab}/${rest}` : tab}>
				<Suspense fallback={<Loading />}>
					{tab === "charts" ? <ChartsPage id={id} /> : null}
					{tab === "requests" ? (
						rest === undefined ? (
							<RequestsPage id={id} />
						) : other !== null ? (
							<ComparePage key={`${rest} ${other}`} endpoint={id} left={rest} right={other} />
						) : (
							<JobPage key={rest} endpoint={id} id={rest} />
						)
					) : null}
					{tab === "try" ? <TryPage key={id} id={id} served={hasHttp(endpoint)} /> : null}
					{tab === "workers" ? (
						<WorkersPage id={id} launched={endpoint.launcher.type !== "external"} worker={rest} />
					) : null}
					{tab === "batches" ? (
						rest === undefined ? (
							<BatchesPage key={id} id={id} />
						) : (
							<BatchPage key={rest} endpoint={id} id={rest} />
						)
					) : null}
					{tab === "files" ? <FilesPage key={id} id={id} /> : null}
					{tab === "connect" ? <ConnectPage endpoint={endpoint} /> : null}
					{tab === "settings" ? <SettingsPage endpoint={endpoint} reload={reload} show={show} /> : null}
				</Suspense>
			</Boundary>
		</>
	);
}

/** Scrolls the tabs until the chosen one is in their middle. */
function centre(tabs: HTMLElement): void {
	const chosen = tabs.querySelector("[aria-current]");
	if (!chosen) return;
	const [all, one] = [tabs.getBoundingClientRect(), chosen.getBoundingClientRect()];
	tabs.scrollLeft += one.left + one.width / 2 - all.left - all.width / 2;
}

function Head({
	endpoint: { id, name },
	paused,
	waiting,
	reload,
	live,
	acts,
}: {
	endpoint: Endpoint;
	paused: boolean;
	waiting: number;
	reload: () => void;
	live: boolean;
	/** Whether it is acted on; the page of one job resumes it only. */
	acts: boolean;
}): ReactNode {
	const [purging, setPurging] = useState(false);
	const { busy, run } = useAct();
	const [write, admin] = [useMay("write"), useMay("admin")];
	const setPaused = async (): Promise<void> => {
		if (
			await run(
				() => ask(ofEndpoint(id, paused ? "/resume" : "/pause"), { method: "POST" }),
				paused ? T.endpoint.resumed : T.endpoint.pausedNow,
			)
		)
			reload();
	};
	return (
		<header className="page-head">
			<div className="page-title">
				<h1>{name}</h1>
				{name === id ? null : <code className="muted">{id}</code>}
				{paused ? <Badge tone="late">{T.paused}</Badge> : null}
				{live ? null : <Badge tone="late">{T.notLive}</Badge>}
			</div>
			<div className="actions">
				{(acts || paused) && admin ? (
					<Button icon={paused ? "play" : "pause"} busy={busy} onPress={() => void setPaused()}>
						{paused ? T.endpoint.resume : T.endpoint.pause}
					</Button>
				) : null}
				{acts && write ? (
					<Button disabled={waiting === 0} onPress={() => setPurging(true)}>
						{T.endpoint.purge}
					</Button>
				) : null}
			</div>
			{purging ? <PurgeQueue id={id} name={name} waiting={waiting} close={() => setPurging(false)} /> : null}
		</header>
	);
}
