/** GPUs of one machine: model, memory in use, the workers that have it. */
import type { ReactNode } from "react";
import { number } from "../../text/format.ts";
import { Badge, Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Since } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import type { Gpu } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

export function GpuTable({ label, gpus }: { label: string; gpus: readonly Gpu[] }): ReactNode {
	return <Table label={label} columns={COLUMNS} rows={gpus} id={({ id }) => id} />;
}

/** The machine of the service, whose GPUs have numbers. */
export const LOCAL = "local";

/** Longer ids of GPUs are shown by their end. */
const LONGEST_ID = 8;

/** Such as `GPU 0`; those of a Docker host have ids in place of numbers. */
export function gpuName(id: string): string {
	if (/^\d+$/.test(id)) return T.hosts.number(id);
	return id.length > LONGEST_ID ? `…${id.slice(-6)}` : id;
}

const COLUMNS: readonly Column<Gpu>[] = [
	{
		name: T.hosts.model,
		main: true,
		cell: ({ model, id }) => (
			<span title={id}>
				<b>{model ?? gpuName(id)}</b> {model === undefined ? null : <span className="muted">{gpuName(id)}</span>}
			</span>
		),
	},
	{
		name: T.hosts.memory,
		cell: ({ memoryGb, memoryUsedGb, freeGb, holders }) =>
			memoryGb === undefined ? null : (
				<>
					{memoryUsedGb === undefined ? (
						`${number(memoryGb)} GB`
					) : (
						<span className="use-cell">
							{T.hosts.of(number(memoryUsedGb), `${number(memoryGb)} GB`)}
							<meter className="use" aria-label={T.hosts.memory} value={memoryUsedGb} max={memoryGb} />
						</span>
					)}
					{freeGb === undefined || holders.every((holder) => holder.memoryGb === undefined) ? null : (
						<span className="fact-line muted">{T.hosts.left(`${number(freeGb)} GB`)}</span>
					)}
				</>
			),
	},
	{
		name: T.hosts.heldBy,
		cell: ({ holders, busyPercent }) => (
			<>
				{holders.length === 0 ? <Badge tone="good">{T.hosts.free}</Badge> : null}
				{holders.map((holder, index) => (
					<Holder key={`${index} ${holder.worker ?? ""}`} holder={holder} />
				))}
				{busyPercent === undefined ? null : <span className="fact-line muted">{T.workers.busy(busyPercent)}</span>}
			</>
		),
	},
];

function Holder({ holder }: { holder: Gpu["holders"][number] }): ReactNode {
	const { state, worker, endpoint, since, memoryGb, usedGb } = holder;
	return (
		<span className="fact-line">
			{state === "other" ? T.hosts.otherService : <Status state={SHOWN[state] ?? state} />}{" "}
			{since === undefined ? null : (
				<span className="muted">
					<Since at={since} />{" "}
				</span>
			)}
			{memoryGb === undefined ? null : (
				<Badge>
					{usedGb === undefined ? `${number(memoryGb)} GB` : T.hosts.of(number(usedGb), `${number(memoryGb)} GB`)}
				</Badge>
			)}{" "}
			{worker === undefined || endpoint === undefined ? null : (
				<a className="quiet mono break" href={to(["endpoints", endpoint, "workers", worker])}>
					{worker}
				</a>
			)}
		</span>
	);
}

/** The states of workers have other words in the rest of the console. */
const SHOWN: Readonly<Record<string, string>> = { starting: "initializing", busy: "running" };
