/** Opens batches: the runner at the start, the rest with the first call. */
import { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import type { BatchHandlers } from "./handlers.ts";
import { busOf } from "../../kernel/events.ts";
import type { EVENTS } from "./events.ts";
import { BATCH_ROUTES } from "./routes.ts";
import { batchRunner } from "./runner.ts";

export function openOpenaiAsync(kernel: Kernel): OpenModule {
	const events = busOf<typeof EVENTS>(kernel.events);
	const requests = counts(kernel.events);
	const runner = batchRunner(kernel, {
		collected(endpoint, { completed, failed }) {
			requests.add(completed, endpoint, "completed");
			requests.add(failed, endpoint, "failed");
		},
		files: () => kernel.hooks.files,
		delayed: (facts) => events.emit("batch.delayed", facts),
		ended({ row: { id: batch, endpoint }, progress }) {
			const { completed, failed } = progress.shown;
			events.emit("batch.ended", { endpoint, batch, status: progress.state, completed, failed });
		},
	});
	let handlers: Promise<BatchHandlers> | undefined;
	const late = BATCH_ROUTES.map(({ name }) => {
		const handle = async (call: never): Promise<unknown> => {
			handlers ??= import("./handlers.ts").then(({ batchHandlers }) => batchHandlers(kernel, runner));
			return await ((await handlers)[name] as (call: never) => unknown)(call);
		};
		return [name, handle] as const;
	});
	return {
		handlers: Object.fromEntries(late),
		services: [runner.service],
		families: async () => (await import("./families.ts")).batchFamilies(runner, requests),
		hooks: { wantedWorkers: runner.wantedWorkers },
	};
}
