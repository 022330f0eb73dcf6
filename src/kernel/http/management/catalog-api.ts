/** The catalog of the management API (D49). */
import { availableParallelism } from "node:os";
import * as api from "../../api/management/catalog.ts";
import type { Param } from "../../api/definition/params.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { badRequest } from "../../core/errors.ts";
import {
	availableTypes,
	CENTER,
	cpuType,
	DATA_CENTER,
	type GpuFilter,
	gpuTypes,
} from "../../core/management/catalog.ts";
import type { Call } from "../exchange/call.ts";
import { missing, checkedParam } from "./exchange.ts";

type Gpus = AnswerOf<typeof api.LIST_GPU_TYPES>;
type Cpus = AnswerOf<typeof api.LIST_CPU_TYPES>;
type Centers = AnswerOf<typeof api.LIST_DATA_CENTERS>;

export async function listGpus(call: Call): Promise<Gpus> {
	const filter = gpuFilterIn(call);
	const gpus = await call.engine.workers.gpus.list();
	return { gpus: filter ? availableTypes(gpus, filter) : gpuTypes(gpus) };
}

export async function getGpu(call: Call<"id">): Promise<Gpus["gpus"][number]> {
	return only((await listGpus(call)).gpus, call, { kind: "GPU type", list: "gpus" });
}

export function listCpus(call: Call): Cpus {
	const product = productIn(call, api.CPU_PRODUCT, [api.VCPU_COUNT]);
	const count = checkedParam(call, api.VCPU_COUNT) ?? 0;
	const type = cpuType(availableParallelism());
	const availability = product?.includes("SERVERLESS") && count <= type.vcpu.max ? "HIGH" : "NONE";
	return { cpus: [{ ...type, ...(product && { availability, dataCenters: [{ ...DATA_CENTER, availability }] }) }] };
}

export function getCpu(call: Call<"id">): Cpus["cpus"][number] {
	return only(listCpus(call).cpus, call, { kind: "CPU type", list: "cpus" });
}

export async function listCenters(call: Call): Promise<Centers> {
	const regions = checkedParam(call, api.REGION_FILTER);
	const volumeTypes = checkedParam(call, api.VOLUME_FILTER) ?? [];
	const compliance = checkedParam(call, api.COMPLIANCE_FILTER) ?? [];
	const network = checkedParam(call, api.GLOBAL_NETWORK);
	const include = checkedParam(call, api.CENTER_INCLUDE) ?? [];
	const fits =
		regions?.includes(CENTER.region) !== false &&
		volumeTypes.every((type) => type === CENTER.networkVolumeTypes[0]) &&
		compliance.length === 0 &&
		network !== "true";
	if (!fits) return { dataCenters: [] };
	const gpus = include.includes("GPU_AVAILABILITY") ? await call.engine.workers.gpus.list() : [];
	const gpuAvailability = availableTypes(gpus, ONE_GPU).map(({ id, name, availability }) => ({
		id,
		name,
		availability,
	}));
	const { id, name } = cpuType(availableParallelism());
	const cpuAvailability = include.includes("CPU_AVAILABILITY") && [{ id, name, availability: "HIGH" as const }];
	const available = {
		...(gpuAvailability.length > 0 && { gpuAvailability }),
		...(cpuAvailability && { cpuAvailability }),
	};
	return { dataCenters: [{ ...CENTER, ...available }] };
}

export async function getCenter(call: Call<"id">): Promise<Centers["dataCenters"][number]> {
	return only((await listCenters(call)).dataCenters, call, { kind: "data centre", list: "datacenters" });
}

const ONE_GPU: GpuFilter = { count: 1, isServerless: true, isElsewhere: false };

/** Undefined without `include`. */
function gpuFilterIn(call: Call): GpuFilter | undefined {
	const { COUNT, CLOUD, COUNTRIES, CUDA_VERSIONS, MIN_CUDA } = api;
	const product = productIn(call, api.GPU_PRODUCT, [COUNT, CLOUD, COUNTRIES, CUDA_VERSIONS, MIN_CUDA]);
	const allowedCudaVersions = checkedParam(call, CUDA_VERSIONS);
	const minCudaVersion = checkedParam(call, MIN_CUDA);
	if (allowedCudaVersions && minCudaVersion !== undefined)
		throw badRequest([{ field: MIN_CUDA.name, message: `is not for use with ${CUDA_VERSIONS.name}: leave out one.` }]);
	const isElsewhere = checkedParam(call, CLOUD) === "COMMUNITY" || checkedParam(call, COUNTRIES) !== undefined;
	return (
		product && {
			count: checkedParam(call, COUNT) ?? 1,
			isServerless: product.includes("SERVERLESS"),
			isElsewhere,
			minCudaVersion,
			allowedCudaVersions,
		}
	);
}

/** Undefined without `include`. Throws 400 for one of the two alone, and for `others` without them. */
function productIn<P extends string>(
	call: Call,
	param: Param<P[]>,
	others: readonly Param<unknown>[],
): readonly P[] | undefined {
	const include = checkedParam(call, api.INCLUDE);
	const product = checkedParam(call, param);
	if (include && !product) throw badRequest([{ field: param.name, message: "is required with include=AVAILABILITY." }]);
	if (include) return product;
	const given = [param, ...others].find((each) => checkedParam<unknown>(call, each) !== undefined);
	if (given) throw badRequest([{ field: given.name, message: "needs include=AVAILABILITY." }]);
	return undefined;
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
