/** Workers of one endpoint or of all, those that have ended, and the log of one. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint } from "../../client/api.ts";
import { useNow } from "../../client/clock.ts";
import { useFeed, useOverview } from "../../client/feed.ts";
import { useLoad } from "../../client/load.ts";
import { WaitReason } from "../../parts/crash.tsx";
import { LogView } from "../../parts/logs/log-view.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Icon } from "../../parts/icons.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { EndedWorker, Endpoint, Overview, Worker } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { endedGroups, type EndedRow } from "../overview/crash-groups.ts";
import { EndedWorkers, Times } from "./ended-workers.tsx";
import { Releases } from "../../modules/releases/releases.tsx";
import { WorkerLimits } from "./worker-limits.tsx";
import { type Row, WorkerTable } from "./worker-table.tsx";

/** Between two loads while something is in progress, and of what workers use, ms. */
const PROGRESS_MS = 2000;
const USAGE_MS = 5000;

interface Found {
	workers: readonly Row[];
	ended: readonly EndedRow[];
}

/**
 * Those of one endpoint; `worker`: whose log is shown, also of one that has ended. `launched`: the
 * service starts them.
 */
export function WorkersPage({
	id,
	launched,
	worker,
}: {
	id: string;
	launched: boolean;
	worker: string | undefined;
}): ReactNode {
	const overview = useOverview(id);
	const admin = useMay("admin");
	const { data: found, failure, reload } = useWorkers([id], overview);
	const { workers: data, ended = [] } = found ?? {};
	const { reason, again } = useReason(id, overview, launched);
	const crashed = reason?.code === "crashed" ? endedGroups(ended).find(({ newest }) => newest.code) : undefined;
	if (worker !== undefined && admin)
		return (
			<WorkerLog
				id={id}
				worker={worker}
				running={data?.filter((each) => each.id === worker) ?? []}
				ended={ended.filter((each) => each.id === worker)}
				reload={reload}
			/>
		);
	return (
		<>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{reason ? (
				<WaitReason endpoint={id} reason={{ ...reason, ...(crashed && { worker: crashed.newest }) }} reload={again}>
					{crashed ? <Times group={crashed} /> : null}
				</WaitReason>
			) : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.length === 0 ? (
				<NoWorkers id={id} launched={launched} explained={reason !== undefined} />
			) : (
				<WorkerTable rows={data} reload={reload} />
			)}
			{launched ? <Releases id={id} change={overview?.workers} /> : null}
			{launched || ended.length > 0 ? <EndedWorkers rows={ended} open={crashed === undefined} /> : null}
		</>
	);
}

/** The log of one worker, as high as the page; above it, the worker. */
function WorkerLog({
	id,
	worker,
	running,
	ended,
	reload,
}: {
	id: string;
	worker: string;
	running: readonly Row[];
	ended: readonly EndedRow[];
	reload: () => void;
}): ReactNode {
	return (
		<>
			<p>
				<a className="back" href={to(["endpoints", id, "workers"])}>
					<Icon name="left" /> {T.workers.back}
				</a>
			</p>
			{running.length === 0 ? null : <WorkerTable rows={running} reload={reload} />}
			{ended.length === 0 ? null : <EndedWorkers rows={ended} open={false} />}
			<section className="card whole-log">
				<h2>{T.log.of(worker)}</h2>
				<LogView key={worker} endpoint={id} worker={worker} />
			</section>
		</>
	);
}

/** Why the endpoint lacks workers. */
function useReason(
	id: string,
	overview: Overview | undefined,
	launched: boolean,
): { reason: Endpoint["reason"]; again: () => void } {
	const [shown, setShown] = useState(false);
	const beat = useBeat(shown ? PROGRESS_MS : undefined);
	const { data, reload } = useLoad(
		id,
		async (signal) => {
			const reason = launched ? (await ask<Endpoint>(ofEndpoint(id), { signal })).reason : undefined;
			setShown(reason !== undefined);
			return { reason };
		},
		{ change: `${JSON.stringify(overview?.workers)} ${overview?.queue.inQueue} ${beat}` },
	);
	return { reason: data?.reason, again: reload };
}

/** Changes at this interval, ms, while the page is visible; never where it is undefined. */
function useBeat(ms: number | undefined): number {
	const beat = Math.floor(useNow(PROGRESS_MS) / (ms ?? PROGRESS_MS));
	return ms === undefined ? 0 : beat;
}

/** Those of all endpoints. */
export function AllWorkersPage(): ReactNode {
	const { endpoints } = useFeed();
	const {
		data: found,
		failure,
		reload,
	} = useWorkers(
		endpoints?.map(({ id }) => id) ?? [],
		endpoints?.map(({ workers }) => workers),
	);
	const { workers: data, ended } = found ?? {};
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.workers}</h1>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.length === 0 ? (
				<Empty title={T.workers.none}>{T.workers.noneAnywhere}</Empty>
			) : (
				<WorkerTable rows={data} reload={reload} everywhere />
			)}
			<WorkerLimits endpoints={endpoints ?? []} />
			{ended ? <EndedWorkers rows={ended} everywhere open /> : null}
		</>
	);
}

/** Loaded again when the feed's counts of workers or running jobs move. */
function useWorkers(
	ids: readonly string[],
	counts: Overview | readonly Overview["workers"][] | undefined,
): ReturnType<typeof useLoad<Found>> {
	const [every, setEvery] = useState<number | undefined>(undefined);
	const beat = useBeat(every);
	const load = async (signal: AbortSignal): Promise<Found> => {
		const all = await Promise.all(
			ids.map(async (endpoint) => {
				const path = ofEndpoint(endpoint, "/workers?ended=true&usage=true");
				const found = await ask<{ workers: Worker[]; ended: EndedWorker[] }>(path, { signal });
				return {
					workers: found.workers.map((worker) => ({ ...worker, endpoint })),
					ended: found.ended.map((worker) => ({ ...worker, endpoint })),
				};
			}),
		);
		const workers = all.flatMap((each) => each.workers);
		const waiting = workers.some(({ reason }) => reason !== undefined);
		const used = workers.some(({ usage }) => usage !== undefined);
		setEvery(waiting ? PROGRESS_MS : used ? USAGE_MS : undefined);
		const ended = all.flatMap((each) => each.ended).toSorted((a, b) => (a.endedAt < b.endedAt ? 1 : -1));
		return { workers, ended };
	};
	const change =
		counts && "queue" in counts ? [counts.workers, counts.queue.inProgress, counts.queue.completed] : counts;
	return useLoad(ids.join(" "), load, { change: `${JSON.stringify(change)} ${beat}` });
}

/** `explained`: the page says above why there are none. */
function NoWorkers({ id, launched, explained }: { id: string; launched: boolean; explained: boolean }): ReactNode {
	if (explained) return <p className="muted">{T.workers.noneYet}</p>;
	return (
		<Empty title={T.workers.none}>
			{launched ? (
				<p>
					{T.workers.onDemand} <a href={to(["endpoints", id, "try"])}>{T.requests.sendOne}</a>
				</p>
			) : (
				<p>
					{T.workers.attach} <a href={to(["endpoints", id, "connect"])}>{T.connect.workers}</a>
				</p>
			)}
		</Empty>
	);
}
