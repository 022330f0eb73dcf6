/** What the module gives to workers and to other modules (D60). */
import type { Hooks } from "../../../kernel/engine/context.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { Objects } from "../objects/store.ts";
import { hasFiles } from "./member.ts";
import { bucketVariables } from "./variables.ts";

/** `objects`: loads what stores them. */
export function workerHooks(
	kernel: Kernel,
	objects: () => Promise<Objects>,
): Required<Pick<Hooks, "workerVariables" | "jobFiles">> {
	return {
		workerVariables: (endpoint) =>
			bucketVariables(endpoint, { publicUrl: kernel.publicUrl, secret: kernel.encryption }),
		jobFiles(endpoint) {
			if (!hasFiles(endpoint)) return undefined;
			return {
				async put(job, file) {
					const [{ keptFiles }, own] = await Promise.all([import("./kept-files.ts"), objects()]);
					return await keptFiles(kernel, own, endpoint).put(job, file);
				},
			};
		},
	};
}
