/** Opens quotas: submissions to endpoints with one are checked from then on (D43). */
import { HOUR_MS } from "../../kernel/core/metrics/metric-buckets.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { gpuQuotas } from "./gpu-quotas.ts";

export async function openQuotas(kernel: Kernel): Promise<OpenModule> {
	const { history } = kernel.metrics;
	const { refusal } = gpuQuotas({
		...kernel,
		runTime: async (q) => (await history.total({ ...q, step: HOUR_MS })).execution.sum,
	});
	return { hooks: { refusal } };
}
