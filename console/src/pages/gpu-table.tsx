/** GPUs of one machine: model, memory in use, what the worker that has it does. */
import type { ReactNode } from "react";
import { number } from "../format.ts";
import { Badge, Status } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Since } from "../parts/time.tsx";
import { to } from "../router.ts";
import type { Gpu } from "../shapes.ts";
import { T } from "../text.ts";

export function GpuTable({ label, gpus }: { label: string; gpus: readonly Gpu[] }): ReactNode {
	return <Table label={label} columns={COLUMNS} rows={gpus} id={({ id }) => id} />;
}

const COLUMNS: readonly Column<Gpu>[] = [
	{
		name: T.hosts.model,
		main: true,
		cell: ({ model, id }) => <b title={id}>{model ?? T.hosts.number(id)}</b>,
	},
	{
		name: T.hosts.memory,
		end: true,
		cell: ({ memoryGb, memoryUsedGb }) =>
			memoryGb === undefined ? null : memoryUsedGb === undefined ? (
				`${number(memoryGb)} GB`
			) : (
				<>
					{T.hosts.of(number(memoryUsedGb), `${number(memoryGb)} GB`)}{" "}
					<meter className="use" aria-label={T.hosts.memory} value={memoryUsedGb} max={memoryGb} />
				</>
			),
	},
	{
		name: T.hosts.state,
		cell: ({ state, since, busyPercent }) => (
			<>
				{state === "free" ? (
					<Badge tone="good">{T.hosts.free}</Badge>
				) : state === "other" ? (
					T.hosts.otherService
				) : (
					<Status state={SHOWN[state] ?? state} />
				)}{" "}
				<span className="muted">
					{since === undefined ? null : <Since at={since} />}
					{busyPercent === undefined ? null : ` · ${T.workers.busy(busyPercent)}`}
				</span>
			</>
		),
	},
	{
		name: T.hosts.heldBy,
		cell: ({ worker, endpoint }) =>
			worker === undefined || endpoint === undefined ? null : (
				<a className="quiet mono break" href={to(["endpoints", endpoint, "workers", worker])}>
					{worker}
				</a>
			),
	},
];

/** The states of workers have other words in the rest of the console. */
const SHOWN: Readonly<Record<string, string>> = { starting: "initializing", busy: "running" };
