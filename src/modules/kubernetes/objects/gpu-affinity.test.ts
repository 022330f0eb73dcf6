/** Node affinity for the GPUs of a worker, evaluated over nodes as Kubernetes does. */
import { describe, expect, it } from "vitest";
import { type NodeGpuNeed, withGpuAffinity } from "./gpu-affinity.ts";

type Labels = Record<string, string>;

function node(model: string, mib: number, cuda: string, others: Labels = {}): Labels {
	const [major = "", minor = ""] = cuda.split(".");
	return {
		"nvidia.com/gpu.product": model.replaceAll(" ", "-"),
		"nvidia.com/gpu.memory": String(mib),
		"nvidia.com/cuda.runtime-version.major": major,
		"nvidia.com/cuda.runtime-version.minor": minor,
		...others,
	};
}

/** Kubernetes: one term must hold, of which all expressions must; `NotIn` also holds without the label. */
function fits(spec: any, labels: Labels): boolean {
	const { nodeSelectorTerms } = spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution;
	return nodeSelectorTerms.some(({ matchExpressions }: any) =>
		matchExpressions.every(({ key, operator, values }: any) => {
			const value = labels[key];
			// The API server refuses others.
			for (const each of values) expect(each).toMatch(/^[A-Za-z0-9][\w.-]{0,62}$/);
			if (operator === "NotIn") return value === undefined || !values.includes(value);
			if (value === undefined) return false;
			return operator === "In" ? values.includes(value) : Number(value) > Number(values[0]);
		}),
	);
}

const NODES: Record<string, Labels> = {
	t4: node("Tesla T4", 15_360, "11.8"),
	l4: node("NVIDIA L4", 23_034, "12.2", { zone: "a" }),
	a100: node("NVIDIA A100-SXM4-80GB", 81_920, "12.4", { zone: "b" }),
	h100: node("NVIDIA H100 80GB HBM3", 81_559, "13.0", { zone: "a" }),
	cpu: {},
};

const among = (need: NodeGpuNeed, spec: object = {}): string[] => {
	const made = withGpuAffinity(spec as never, need);
	return Object.keys(NODES).filter((name) => fits(made, NODES[name]!));
};

describe("withGpuAffinity", () => {
	it.each<[NodeGpuNeed, string[]]>([
		[{ models: ["NVIDIA L4", "Tesla T4"] }, ["t4", "l4"]],
		[{ excludedModels: ["NVIDIA L4"] }, ["t4", "a100", "h100", "cpu"]],
		[{ memoryMinGb: 24 }, ["l4", "a100", "h100"]],
		[{ memoryMinGb: 24.2 }, ["a100", "h100"]],
		[{ minCudaVersion: "12.2" }, ["l4", "a100", "h100"]],
		[{ minCudaVersion: "12.3" }, ["a100", "h100"]],
		[{ minCudaVersion: "12.0" }, ["l4", "a100", "h100"]],
		[{ minCudaVersion: "13.1" }, []],
		[{ allowedCudaVersions: ["11.8", "12.4"] }, ["t4", "a100"]],
		[{ allowedCudaVersions: ["12.4", "13.0"], minCudaVersion: "12.8" }, ["h100"]],
		[{ allowedCudaVersions: [], models: ["NVIDIA L4"], memoryMinGb: 20 }, ["l4"]],
	])("D44: %j fits %j", (need, names) => {
		expect(among(need)).toEqual(names);
	});

	it("D44: a template's own affinity holds as well, each of its alternatives", () => {
		const zone = (value: string) => ({ matchExpressions: [{ key: "zone", operator: "In", values: [value] }] });
		const given = (...terms: object[]) => ({
			affinity: {
				podAffinity: { x: 1 },
				nodeAffinity: {
					preferredDuringSchedulingIgnoredDuringExecution: [],
					requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
				},
			},
		});
		expect(among({ memoryMinGb: 20 }, given(zone("a")))).toEqual(["l4", "h100"]);
		expect(among({ minCudaVersion: "12.4" }, given(zone("a"), zone("b")))).toEqual(["a100", "h100"]);
		expect(withGpuAffinity(given(zone("a")) as never, { memoryMinGb: 20 })).toMatchObject({
			affinity: {
				podAffinity: { x: 1 },
				nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
			},
		});
	});
});
