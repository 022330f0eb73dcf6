/** Where a worker runs, and what it uses there. */
import type { ReactNode } from "react";
import { bytes, number } from "../../text/format.ts";
import type { Worker } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

type Gpu = NonNullable<NonNullable<Worker["usage"]>["gpus"]>[number];

export function PlaceCell({ launcher, host, gpus, usage }: Worker): ReactNode {
	const place = [host, usage?.image, gpus && !usage?.gpus?.length ? `GPU ${gpus.join(", ")}` : undefined]
		.filter(Boolean)
		.join(" · ");
	return (
		<>
			{launcher === "external" ? T.workers.external : launcher}
			{place === "" ? null : (
				<span className="fact-line line muted" title={place}>
					{place}
				</span>
			)}
		</>
	);
}

export function UsageCell({ usage }: Worker): ReactNode {
	if (usage === undefined) return null;
	const { cores, memory, memoryMax, processes, gpus = [] } = usage;
	const facts = [
		cores === undefined ? undefined : T.workers.cores(number(cores)),
		memory === undefined
			? undefined
			: memoryMax === undefined
				? T.workers.memory(bytes(memory))
				: T.workers.memoryOf(bytes(memory), bytes(memoryMax)),
		processes === undefined || processes < 2 ? undefined : T.workers.processes(processes),
	];
	const text = facts.filter(Boolean).join(", ");
	if (text === "" && gpus.length === 0) return null;
	return (
		<>
			{text}
			{gpus.map((gpu) => (
				<span key={gpu.id} className="fact-line muted">
					{gpuText(gpu)}
				</span>
			))}
		</>
	);
}

function gpuText({ id, model, memory, memoryUsed, busy }: Gpu): string {
	return [
		T.workers.gpu(id, model),
		busy === undefined ? undefined : T.workers.busy(busy),
		memoryUsed === undefined ? bytes(memory) : T.workers.memoryOf(bytes(memoryUsed), bytes(memory)),
	]
		.filter(Boolean)
		.join(", ");
}
