/** The catalog of the management API (D49). */
import { availableParallelism } from "node:os";
import * as api from "../routes/catalog.ts";
import type { AnswerOf } from "../../../kernel/api/definition/route.ts";
import { availableTypes, cpuType, gpuTypes } from "./catalog.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { missing, checkedParam } from "../exchange.ts";

type Gpus = AnswerOf<typeof api.LIST_GPU_TYPES>;
type Cpus = AnswerOf<typeof api.LIST_CPU_TYPES>;
type Centers = AnswerOf<typeof api.LIST_DATA_CENTERS>;

/** The processor is not given to single workers. */
const CPU_AVAILABILITY = "HIGH";

export async function listGpus(call: Call): Promise<Gpus> {
	const include = checkedParam(call, api.INCLUDE);
	const gpus = await call.engine.workers.gpus.list();
	return { gpus: include ? availableTypes(gpus) : gpuTypes(gpus) };
}

export async function getGpu(call: Call<"id">): Promise<Gpus["gpus"][number]> {
	return only((await listGpus(call)).gpus, call, { kind: "GPU type", list: "gpus" });
}

export function listCpus(call: Call): Cpus {
	const type = cpuType(availableParallelism());
	if (!checkedParam(call, api.INCLUDE)) return { cpus: [type] };
	const availability = CPU_AVAILABILITY;
	return { cpus: [{ ...type, availability, dataCenters: [{ ...api.DATA_CENTER, availability }] }] };
}

export function getCpu(call: Call<"id">): Cpus["cpus"][number] {
	return only(listCpus(call).cpus, call, { kind: "CPU type", list: "cpus" });
}

export async function listCenters(call: Call): Promise<Centers> {
	const include = checkedParam(call, api.CENTER_INCLUDE) ?? [];
	const gpus = include.includes("GPU_AVAILABILITY") ? await call.engine.workers.gpus.list() : [];
	const gpuAvailability = availableTypes(gpus).map(({ id, name, availability }) => ({ id, name, availability }));
	const { id, name } = cpuType(availableParallelism());
	const cpuAvailability = include.includes("CPU_AVAILABILITY") && [
		{ id, name, availability: CPU_AVAILABILITY } as const,
	];
	const available = {
		...(gpuAvailability.length > 0 && { gpuAvailability }),
		...(cpuAvailability && { cpuAvailability }),
	};
	return { dataCenters: [{ ...api.CENTER, ...available }] };
}

export async function getCenter(call: Call<"id">): Promise<Centers["dataCenters"][number]> {
	return only((await listCenters(call)).dataCenters, call, { kind: "data centre", list: "datacenters" });
}

function only<T extends { id: string }>(
	all: readonly T[],
	{ params }: Call<"id">,
	q: { kind: string; list: string },
): T {
	const found = all.find(({ id }) => id === params.id);
	if (!found) throw missing(q.kind, params.id.slice(0, 128), `/v2/catalog/${q.list}`);
	return found;
}
