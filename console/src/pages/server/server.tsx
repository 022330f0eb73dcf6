/** The health of the service: its problems, this server, its store and budgets, and which server does what. */
import { type ReactNode, useState } from "react";
import { ask, askText, type Failure } from "../../client/api.ts";
import { now, useTick } from "../../client/clock.ts";
import { bytes, duration, number } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { samplesOf, type Samples } from "../../values/metric-samples.ts";
import { Fact, FactCard } from "../../parts/fact.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Since } from "../../parts/time.tsx";
import {
	budgetName,
	budgetValue,
	commitsOf,
	FAMILIES,
	isSameProcess,
	type Problem,
	problemsOf,
} from "./server-checks.ts";
import { useMay } from "../../client/session.ts";
import type { Server } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { Alerts } from "../../modules/alerts/alerts.tsx";

/** Between two loads, ms. */
const LOAD_MS = 5000;

export default function ServerPage(): ReactNode {
	const admin = useMay("admin");
	const [first, setFirst] = useState<Samples | undefined>(undefined);
	const { data, failure, reload } = useLoad(
		"server",
		async (signal) => {
			const [text, { servers }] = await Promise.all([
				askText("metrics", { signal }),
				ask<{ servers: Server[] }>("v1/servers", { signal }),
			]);
			const samples = samplesOf(text, FAMILIES, now());
			setFirst((was) => (was && isSameProcess(was, samples) ? was : samples));
			return { samples, servers };
		},
		{ change: useTick(LOAD_MS) },
	);
	if (!admin) return <Empty title={T.server.mayNot} />;
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.server}</h1>
			</header>
			<Alerts />
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? <Health {...data} first={first === data.samples ? undefined : first} failure={failure} /> : null}
			{(data ?? failure) ? null : <Loading />}
		</>
	);
}

function Health({
	samples,
	servers,
	first,
	failure,
}: {
	samples: Samples;
	servers: readonly Server[];
	first: Samples | undefined;
	failure: Failure | undefined;
}): ReactNode {
	const problems = problemsOf(samples, first);
	const toneOf = (about: Problem["about"]): string | undefined =>
		problems.some((problem) => problem.about === about) ? "tone-bad" : undefined;
	return (
		<>
			{failure ? null : <Problems problems={problems} />}
			<div className="job-grid">
				<Here samples={samples} toneOf={toneOf} />
				<Store samples={samples} first={first} toneOf={toneOf} />
			</div>
			<Budgets samples={samples} toneOf={toneOf} />
			<Servers samples={samples} servers={servers} />
			<Requests samples={samples} />
		</>
	);
}

function Problems({ problems }: { problems: readonly Problem[] }): ReactNode {
	if (problems.length === 0)
		return (
			<p role="status">
				<span className="status tone-good">{T.server.good}</span>
			</p>
		);
	return (
		<section className="refusal" role="alert">
			<h2>{T.server.problems(problems.length)}</h2>
			<ul>
				{problems.map(({ about, text, fix }) => (
					<li key={about}>
						{text} <a href={fix}>{T.server.fix}</a>
					</li>
				))}
			</ul>
		</section>
	);
}

type ToneOf = (about: Problem["about"]) => string | undefined;

function Here({ samples, toneOf }: { samples: Samples; toneOf: ToneOf }): ReactNode {
	const [build] = samples.by("sluice_build_info", "version");
	const loop = (part: string): number => 1000 * (samples.of(`nodejs_eventloop_delay_${part}_seconds`) ?? 0);
	const skew = samples.of("sluice_clock_offset_seconds");
	return (
		<FactCard title={T.server.here}>
			<Fact name={T.server.version}>{build?.[0]}</Fact>
			<Fact name={T.server.uptime}>{duration(1000 * (samples.of("process_uptime_seconds") ?? 0))}</Fact>
			<Fact name={T.server.memory} more={T.server.heap(bytes(samples.of("nodejs_heap_size_used_bytes") ?? 0))}>
				{bytes(samples.of("process_resident_memory_bytes") ?? 0)}
			</Fact>
			<Fact name={T.server.loop} tone={toneOf("loop")} more={T.server.longest(duration(loop("max")))}>
				{duration(loop("p50"))}, {duration(loop("p99"))}
			</Fact>
			{skew === undefined ? null : (
				<Fact name={T.server.skew} tone={toneOf("skew")}>
					{skew < 0 ? "−" : "+"}
					{duration(1000 * Math.abs(skew))}
				</Fact>
			)}
		</FactCard>
	);
}

function Store({
	samples,
	first,
	toneOf,
}: {
	samples: Samples;
	first: Samples | undefined;
	toneOf: ToneOf;
}): ReactNode {
	const isUp = samples.of("sluice_store_up") === 1;
	const { p50, p99, count, isWhole } = commitsOf(samples, first);
	const size = (file: string): number | undefined => samples.of("sluice_store_file_bytes", { file });
	const statements = samples.by("sluice_store_statements_pending", "connection");
	const free = samples.of("sluice_store_disk_free_bytes");
	const reserve = samples.of("sluice_budget_limit", { budget: "reservedDisk" }) ?? 0;
	const isPostgres = statements.length > 0;
	const sum = statements.reduce((all, [, each]) => all + each, 0);
	return (
		<FactCard title={T.server.store}>
			<Fact name={T.server.kind}>{isPostgres ? "PostgreSQL" : "SQLite"}</Fact>
			<Fact name={T.server.state}>
				<span className={`status tone-${isUp ? "good" : "bad"}`}>{isUp ? T.server.up : T.server.down}</span>
			</Fact>
			<Fact
				name={T.server.commits}
				tone={toneOf("commits")}
				more={count === 0 ? undefined : T.server[isWhole ? "commitsStart" : "commitsOpen"](number(count))}
			>
				{p50 === undefined || p99 === undefined ? T.server.noCommits : `${fine(p50)}, ${fine(p99)}`}
			</Fact>
			{isPostgres ? (
				<>
					<Fact name={T.server.statements}>{number(sum)}</Fact>
					<Fact name={T.server.waiting}>{number(samples.of("sluice_store_operations_waiting") ?? 0)}</Fact>
					<Fact name={T.server.locks}>{number(samples.of("sluice_store_lock_timeouts_total") ?? 0)}</Fact>
				</>
			) : (
				<>
					<Fact name={T.server.file}>{bytes(size("database") ?? 0)}</Fact>
					<Fact name={T.server.wal}>{bytes(size("wal") ?? 0)}</Fact>
					{free === undefined ? null : (
						<Fact
							name={T.server.disk}
							tone={toneOf("disk")}
							more={reserve > 0 ? T.server.reserve(bytes(reserve)) : undefined}
						>
							{bytes(free)}
						</Fact>
					)}
				</>
			)}
		</FactCard>
	);
}

/** Seconds; short ones with a tenth of a ms. */
const fine = (seconds: number): string => (seconds < 0.01 ? `${number(seconds * 1000)} ms` : duration(seconds * 1000));

interface Budget {
	id: string;
	used: number;
	limit: number;
	refused: number;
}

function Budgets({ samples, toneOf }: { samples: Samples; toneOf: ToneOf }): ReactNode {
	const budgets = samples
		.by("sluice_budget_limit", "budget")
		// The card of the store has it.
		.filter(([budget]) => budget !== "reservedDisk")
		.map(
			([budget, limit]): Budget => ({
				id: budget,
				limit,
				used: samples.of("sluice_budget_used", { budget }) ?? 0,
				refused: samples.of("sluice_budget_refusals_total", { budget }) ?? 0,
			}),
		);
	const columns: readonly Column<Budget>[] = [
		{
			name: T.server.budget,
			main: true,
			cell: ({ id }) => <span className={toneOf(`budget ${id}`)}>{budgetName(id)}</span>,
		},
		{ name: T.server.used, end: true, cell: ({ id, used }) => budgetValue(id, used) },
		{ name: T.server.limit, end: true, cell: ({ id, limit }) => budgetValue(id, limit) },
		{ name: T.server.refused, end: true, cell: ({ refused }) => (refused === 0 ? null : number(refused)) },
	];
	return (
		<section className="stack" aria-label={T.server.budgets}>
			<h2>{T.server.budgets}</h2>
			<div className="card flush">
				<Table label={T.server.budgets} columns={columns} rows={budgets} id={({ id }) => id} />
			</div>
		</section>
	);
}

/** Of several servers a row each; else the one there is. */
function Servers({ samples, servers }: { samples: Samples; servers: readonly Server[] }): ReactNode {
	const alone = (): Server => {
		const uptime = 1000 * (samples.of("process_uptime_seconds") ?? 0);
		const held = samples.by("sluice_leases_held", "role");
		const leads = held.flatMap(([role, count]) =>
			role === "scale" ? Array<string>(count).fill("scale:") : count ? [role] : [],
		);
		return { id: "self", url: location.origin, startedAt: new Date(now() - uptime).toISOString(), self: true, leads };
	};
	const columns: readonly Column<Server>[] = [
		{
			name: T.server.server,
			main: true,
			cell: ({ url, self }) => (
				<>
					<span className="mono break">{url}</span> {self ? <Badge>{T.server.self}</Badge> : null}
				</>
			),
		},
		{ name: T.server.leads, cell: ({ leads }) => rolesOf(leads) },
		{ name: T.server.uptime, cell: ({ startedAt }) => <Since at={startedAt} /> },
	];
	return (
		<section className="stack" aria-label={T.server.servers}>
			<h2>{T.server.servers}</h2>
			<div className="card flush">
				<Table
					label={T.server.servers}
					columns={columns}
					rows={servers.length === 0 ? [alone()] : servers}
					id={({ id }) => id}
				/>
			</div>
		</section>
	);
}

function rolesOf(leads: readonly string[]): string | null {
	const scales = leads.filter((lease) => lease.startsWith("scale:")).length;
	const roles = Object.entries(T.server.roles).flatMap(([role, name]) => (leads.includes(role) ? [name] : []));
	return [...roles, ...(scales > 0 ? [T.server.scales(scales)] : [])].join(", ") || null;
}

/** Polls of workers, streams and followers: the most first. */
function Requests({ samples }: { samples: Samples }): ReactNode {
	const open = samples
		.by("sluice_http_requests_in_flight", "operation")
		.filter(([, count]) => count > 0)
		.toSorted(([, a], [, b]) => b - a);
	return (
		<FactCard title={T.server.requests}>
			{open.map(([operation, count]) => (
				<Fact
					key={operation}
					name={operation}
					more={(T.server.operations as Readonly<Record<string, string>>)[operation]}
				>
					{number(count)}
				</Fact>
			))}
		</FactCard>
	);
}
