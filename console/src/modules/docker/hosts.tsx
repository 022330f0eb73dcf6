/** Machines with a Docker daemon (D44): their state, GPUs, workers, images; drained and resumed. */
import { type ReactNode, useState } from "react";
import { ask } from "../../client/api.ts";
import { useTick } from "../../client/clock.ts";
import { bytes, number } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Badge, Status } from "../../parts/status.tsx";
import { Since } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { Gpu, Host } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { GpuLanes } from "./gpu-lanes.tsx";
import { GpuTable, LOCAL } from "./gpu-table.tsx";

/** Between two loads, ms: the service checks its hosts as often. */
const LOAD_MS = 5000;

/** Characters of a launched worker's id behind that of its endpoint. */
const WORKER_TAIL = 13;

export default function HostsPage(): ReactNode {
	const admin = useMay("admin");
	const [asked, setAsked] = useState<Host | undefined>(undefined);
	const { data, failure, reload } = useLoad(
		"hosts",
		async (signal) => {
			const [{ hosts }, { gpus }] = await Promise.all([
				ask<{ hosts: Host[] }>("v1/hosts", { signal }),
				ask<{ gpus: Gpu[] }>("v1/gpus", { signal }),
			]);
			return { hosts, gpus };
		},
		{ change: useTick(LOAD_MS) },
	);
	const { hosts, gpus = [] } = data ?? {};
	if (!admin) return <Empty title={T.hosts.mayNot} />;
	const isUnused = gpus.length === 0 && hosts?.every(({ state }) => state === "unused") && hosts.length <= 1;
	// Those of a host of the configuration have no numbers.
	const numbered = gpus.filter(({ host, id }) => host === LOCAL && /^\d+$/.test(id));
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.hosts}</h1>
			</header>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{hosts === undefined && !failure ? <Loading /> : null}
			{isUnused ? (
				<NoHosts />
			) : (
				<>
					{gpus.length === 0 ? null : <GpuLanes />}
					{numbered.length === 0 ? null : (
						<section className="card stack" aria-label={T.hosts.here}>
							<h2>{T.hosts.here}</h2>
							<GpuTable label={T.hosts.gpusOf(T.hosts.here)} gpus={numbered} />
						</section>
					)}
					{hosts?.map((host) => (
						<HostCard
							key={host.name}
							host={host}
							gpus={gpus.filter((gpu) => gpu.host === host.name && !numbered.includes(gpu))}
							above={host.name === LOCAL && numbered.length > 0}
							act={() => setAsked(host)}
						/>
					))}
				</>
			)}
			{asked ? (
				<Confirm
					title={asked.drained ? T.hosts.resumeTitle(asked.name) : T.hosts.drainTitle(asked.name)}
					act={asked.drained ? T.hosts.resume : T.hosts.drain}
					danger={!asked.drained}
					doing={async () => {
						const deed = asked.drained ? "resume" : "drain";
						await ask(`v1/hosts/${encodeURIComponent(asked.name)}/${deed}`, { method: "POST" });
						reload();
					}}
					done={asked.drained ? T.hosts.resumed : T.hosts.draining}
					close={() => setAsked(undefined)}
				>
					<p>{asked.drained ? T.hosts.resumeText : T.hosts.drainText(asked.workers.length)}</p>
				</Confirm>
			) : null}
		</>
	);
}

/** This machine alone, without GPUs: what to set for more. */
function NoHosts(): ReactNode {
	return (
		<>
			<section className="card stack" aria-label={T.hosts.here}>
				<h2>{T.hosts.here}</h2>
				<p>{T.hosts.noGpusHere}</p>
				<p>
					<a href="../docs/guides/gpus/">{T.hosts.gpuGuide}</a>
				</p>
			</section>
			<section className="card stack" aria-label={T.hosts.none}>
				<h2>{T.hosts.none}</h2>
				<p>{T.hosts.how}</p>
				<CodeBlock name={T.hosts.example} text={T.hosts.config} />
				<p>
					<a href="../docs/guides/docker-hosts/">{T.hosts.hostGuide}</a>
				</p>
			</section>
		</>
	);
}

function HostCard({
	host,
	gpus,
	above,
	act,
}: {
	host: Host;
	gpus: readonly Gpu[];
	/** Its GPUs have a card of their own. */
	above: boolean;
	act: () => void;
}): ReactNode {
	const { name, state, since, fault, drained, labels } = host;
	const id = `host-${name}`;
	return (
		<section className="card stack" aria-labelledby={id}>
			<header className="section-head">
				<h2 id={id}>{name}</h2>
				<div className="actions">
					<Button look="quiet" icon={drained ? "play" : "pause"} onPress={act}>
						{drained ? T.hosts.resume : T.hosts.drain}
						<span className="hidden"> {name}</span>
					</Button>
				</div>
			</header>
			<p className="host-state">
				<Status state={state} />
				{since === undefined ? null : (
					<span className="muted">
						{T.hosts.for} <Since at={since} />
					</span>
				)}
				{drained ? <Badge tone="late">{T.hosts.drained}</Badge> : null}
				{labels.map((label) => (
					<Badge key={label}>{label}</Badge>
				))}
			</p>
			{fault === undefined ? null : <p className="reason">{fault}</p>}
			<Facts host={host} hasGpus={above || host.gpus.length > 0} />
			{gpus.length === 0 ? null : <GpuTable label={T.hosts.gpusOf(name)} gpus={gpus} />}
		</section>
	);
}

function Facts({ host, hasGpus }: { host: Host; hasGpus: boolean }): ReactNode {
	const { address, version, freeDisk, workers, workersMax, images } = host;
	const total = number(workers.length);
	return (
		<dl className="facts">
			<Fact name={T.hosts.address}>
				<span className="mono break">{address}</span>
			</Fact>
			{version === undefined ? null : <Fact name={T.hosts.version}>{version}</Fact>}
			{freeDisk === undefined ? null : <Fact name={T.hosts.disk}>{bytes(freeDisk)}</Fact>}
			{hasGpus ? null : <Fact name={T.hosts.gpus}>{T.hosts.noGpus}</Fact>}
			<Fact name={T.hosts.workers}>
				{workersMax !== undefined
					? T.hosts.of(total, number(workersMax))
					: workers.length === 0
						? T.hosts.noWorkers
						: null}
				{workers.map((worker) => (
					<span key={worker} className="fact-line">
						<WorkerLink id={worker} />
					</span>
				))}
			</Fact>
			<Fact name={T.hosts.images}>
				{images.length === 0 ? (
					T.hosts.noImages
				) : (
					<details className="fold">
						<summary>{number(images.length)}</summary>
						<ul className="plain mono break">
							{images.map((image) => (
								<li key={image}>{image}</li>
							))}
						</ul>
					</details>
				)}
			</Fact>
		</dl>
	);
}

function WorkerLink({ id }: { id: string }): ReactNode {
	return (
		<a className="quiet mono break" href={to(["endpoints", id.slice(0, -WORKER_TAIL), "workers", id])}>
			{id}
		</a>
	);
}
