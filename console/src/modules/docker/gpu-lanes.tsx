/** Who had each GPU over the last hour: a lane per GPU, in the colour of the endpoint. */
import type { ReactNode } from "react";
import { ask } from "../../client/api.ts";
import { useNow } from "../../client/clock.ts";
import { duration } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import type { Gpu, GpuSpan } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { gpuName, LOCAL } from "./gpu-table.tsx";

/** Between two loads, ms. */
const LOAD_MS = 15_000;
const HOUR_MS = 3_600_000;

/** Colours of endpoints, which repeat. */
const TONES = 5;
const STATES = ["busy", "idle", "starting"] as const;

type Bar = GpuSpan & { row: number; since: number; ms: number };

export function GpuLanes(): ReactNode {
	const now = useNow(LOAD_MS);
	const { data } = useLoad(
		"gpu history",
		async (signal) => (await ask<{ gpus: Gpu[] }>("v1/gpus?history=true", { signal })).gpus,
		{ change: Math.floor(now / LOAD_MS) },
	);
	if (data === undefined || data.length === 0) return null;
	const endpoints = [
		...new Set(data.flatMap(({ history = [] }) => history.map(({ endpoint }) => endpoint))),
	].toSorted();
	const toneOf = (endpoint: string): string => `gpu-tone-${(endpoints.indexOf(endpoint) % TONES) + 1}`;
	return (
		<section className="card gpu-lanes" aria-label={T.hosts.lanes}>
			<h2>{T.hosts.lanes}</h2>
			{endpoints.length === 0 ? (
				<p className="muted">{T.hosts.noSpans}</p>
			) : (
				<>
					{data.map((gpu) => (
						<Lane key={`${gpu.host} ${gpu.id}`} gpu={gpu} now={now} toneOf={toneOf} />
					))}
					<p className="scale-ends muted">
						<span>{T.hosts.hourAgo}</span>
						<span>{T.hosts.now}</span>
					</p>
					<p className="legend muted">
						{endpoints.map((endpoint) => (
							<span key={endpoint}>
								<i className={`bar-key gpu-busy ${toneOf(endpoint)}`} /> {endpoint}
							</span>
						))}
						{STATES.map((state) => (
							<span key={state}>
								<i className={`bar-key gpu-${state}`} /> {T.hosts.uses[state]}
							</span>
						))}
					</p>
				</>
			)}
		</section>
	);
}

function Lane({ gpu, now, toneOf }: { gpu: Gpu; now: number; toneOf: (endpoint: string) => string }): ReactNode {
	const bars = barsOf(gpu.history ?? [], now);
	const rows = Math.max(1, ...bars.map(({ row }) => row + 1));
	const name = gpuName(gpu.id);
	const host = gpu.host === LOCAL ? "" : gpu.host;
	const busyMs = bars.reduce((sum, { state, ms }) => sum + (state === "busy" ? ms : 0), 0);
	return (
		<div className="lane">
			<span className="lane-name" title={`${gpu.host} ${gpu.id}`}>
				{host === "" ? null : <span className="line">{host}</span>} <span>{name}</span>
			</span>
			<span className="lane-track" role="img" aria-label={`${host} ${name}: ${summaryOf(bars)}`.trim()}>
				{bars.map(({ worker, endpoint, state, row, since, ms, from }) => (
					<span
						key={`${worker} ${from}`}
						className={`lane-bar gpu-${state} ${toneOf(endpoint)}`}
						style={{
							left: `${(since / HOUR_MS) * 100}%`,
							width: `${(ms / HOUR_MS) * 100}%`,
							top: `${(row / rows) * 100}%`,
							height: `${100 / rows}%`,
						}}
						title={`${worker}: ${T.hosts.used(T.hosts.uses[state], duration(ms))}`}
					/>
				))}
			</span>
			<span className="lane-end muted">{busyMs === 0 ? T.hosts.notBusy : T.hosts.busyFor(duration(busyMs))}</span>
		</div>
	);
}

/** The spans within the hour; those of workers that share the GPU in rows of their own. */
export function barsOf(spans: readonly GpuSpan[], now: number): Bar[] {
	const rows: { worker: string; to: number }[] = [];
	const at = (text: string): number => Math.min(now, Math.max(now - HOUR_MS, new Date(text).getTime()));
	return spans.flatMap((span) => {
		const [from, to] = [at(span.from), at(span.to)];
		if (to <= from) return [];
		const own = rows.findIndex(({ worker }) => worker === span.worker);
		const free = rows.findIndex((row) => row.to <= from);
		const row = own >= 0 ? own : free >= 0 ? free : rows.length;
		rows[row] = { worker: span.worker, to };
		return [{ ...span, row, since: from - now + HOUR_MS, ms: to - from }];
	});
}

/** Such as "chat busy 20 min, chat idle 5 min". */
function summaryOf(bars: readonly Bar[]): string {
	const sums = new Map<string, number>();
	for (const { endpoint, state, ms } of bars) {
		const name = `${endpoint} ${T.hosts.uses[state]}`;
		sums.set(name, (sums.get(name) ?? 0) + ms);
	}
	return [...sums].map(([name, ms]) => T.hosts.used(name, duration(ms))).join(", ") || T.hosts.free;
}
