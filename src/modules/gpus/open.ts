/** Opens GPUs: workers get places from then on, and what they do with GPUs is sampled. */
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { gpuParts } from "./gpu-parts.ts";
import { gpuUse } from "./gpu-use.ts";
import { listGpus } from "./handlers.ts";
import { placement } from "./placement/placement.ts";
import type { GPU_ROUTES } from "./routes.ts";

export async function openGpus(kernel: Kernel): Promise<OpenModule> {
	const { registry, gpus } = kernel.workers;
	const use = gpuUse({ ...kernel, registry, held: gpus.held });
	const handlers: HandlersOf<typeof GPU_ROUTES> = { listGpus: (call) => listGpus(call, use.history) };
	return {
		handlers,
		hooks: { gpuTotals: use.totals, placement: placement(kernel) },
		services: [use.service, gpuParts({ ...kernel, registry, memoryOf: gpus.memoryOf })],
	};
}
