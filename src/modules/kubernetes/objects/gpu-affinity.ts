/** Which nodes have GPUs that an endpoint can use, by the labels of NVIDIA's GPU feature discovery (D44). */
import type { GpuNeed } from "../../../kernel/core/workers/gpu-need.ts";
import { isObject, type Json } from "./merge.ts";

/** Requirements that labels of a cluster's nodes can express. */
export type NodeGpuNeed = Omit<GpuNeed, "model">;

const LABEL = "nvidia.com/";
const MIB = 1024 ** 2;

/** Adds the requirements to each alternative of the template's own node affinity; a node must fit one alternative. */
export function withGpuAffinity(spec: Json, need: NodeGpuNeed): Json {
	const terms = termsOf(need);
	const affinity = isObject(spec["affinity"]) ? spec["affinity"] : {};
	const nodes = isObject(affinity["nodeAffinity"]) ? affinity["nodeAffinity"] : {};
	const required = nodes["requiredDuringSchedulingIgnoredDuringExecution"];
	const given = isObject(required) ? required["nodeSelectorTerms"] : undefined;
	const own = Array.isArray(given) && given.length > 0 ? given.filter(isObject) : [{}];
	const nodeSelectorTerms = own.flatMap((term) =>
		terms.map((expressions) => {
			const before = Array.isArray(term["matchExpressions"]) ? term["matchExpressions"] : [];
			return { ...term, matchExpressions: [...before, ...expressions] };
		}),
	);
	const nodeAffinity = { ...nodes, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
	return { ...spec, affinity: { ...affinity, nodeAffinity } };
}

/** Returns alternatives; all expressions of one must hold. */
function termsOf({ models, excludedModels, memoryMinGb, minCudaVersion, allowedCudaVersions = [] }: NodeGpuNeed) {
	const all = [
		...(models ? [expression("gpu.product", "In", models.map(productOf))] : []),
		...(excludedModels ? [expression("gpu.product", "NotIn", excludedModels.map(productOf))] : []),
		// In MiB. `Gt` is the only comparison of node affinity for a minimum.
		...(memoryMinGb === undefined
			? []
			: [expression("gpu.memory", "Gt", [String(Math.ceil((memoryMinGb * 1e9) / MIB) - 1)])]),
	];
	const least = minCudaVersion === undefined ? [[]] : fromVersion(minCudaVersion);
	const allowed = allowedCudaVersions.length === 0 ? [[]] : allowedCudaVersions.map(exactly);
	return least.flatMap((one) => allowed.map((other) => [...all, ...one, ...other]));
}

const [MAJOR, MINOR] = ["cuda.runtime-version.major", "cuda.runtime-version.minor"] as const;

function exactly(version: string): Json[] {
	const [major = "", minor = ""] = version.split(".").map((each) => String(Number(each)));
	return [expression(MAJOR, "In", [major]), expression(MINOR, "In", [minor])];
}

function fromVersion(version: string): Json[][] {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return [
		[expression(MAJOR, "Gt", [String(major)])],
		[expression(MAJOR, "In", [String(major)]), ...(minor === 0 ? [] : [expression(MINOR, "Gt", [String(minor - 1)])])],
	];
}

function expression(label: string, operator: "In" | "NotIn" | "Gt", values: string[]): Json {
	return { key: LABEL + label, operator, values };
}

/** Labels have no spaces. */
function productOf(model: string): string {
	return model.replaceAll(" ", "-");
}
