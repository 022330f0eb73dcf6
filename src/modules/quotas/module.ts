/** Quotas: what the module is to the kernel (D43). */
import { gpuBound } from "../../kernel/core/endpoints/endpoint.ts";
import type { ServiceModule } from "../module.ts";

export const quotas: ServiceModule = {
	name: "quotas",
	opensFor: (endpoint) => gpuBound(endpoint) !== undefined,
	open: async (kernel) => (await import("./open.ts")).openQuotas(kernel),
};
