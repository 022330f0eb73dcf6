/** Removes objects that have expired or whose job was deleted, and uploads that were never completed (D59). */
import { unlessUnavailable } from "../../../kernel/engine/context.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { loop, type Service } from "../../../kernel/system/loop.ts";

const HOUR_MS = 3_600_000;
const RETRY_MS = 60_000;

/** Longer than the slowest upload of a part may take. */
const UPLOAD_MS = 48 * HOUR_MS;

/** Objects in one step, so that other operations get their turn. */
const ROWS = 100;

/** Removes the objects of a job (`objects.ts`). Their bytes are removed by the time it resolves. */
export async function removeJob(
	{ store }: Pick<Kernel, "store">,
	{ endpoint, id }: { endpoint: string; id: string },
	removeBytes: (file: string) => Promise<void>,
): Promise<void> {
	for (;;) {
		const { removed, freed } = await store.objects.removeFolder({ endpoint, folder: id, limit: ROWS });
		for (const file of freed) await removeBytes(file);
		if (removed === 0) return;
	}
}

export function sweep(kernel: Kernel, removeBytes: (id: string) => Promise<void>): Service {
	const { store, cluster } = kernel;
	return loop({
		clock: kernel.clock,
		retryMs: RETRY_MS,
		onError: unlessUnavailable(kernel, "removing objects"),
		step: async () => {
			if (!cluster.leads("sweep")) return RETRY_MS;
			for (;;) {
				const now = kernel.now();
				const { removed, freed } = await store.objects.expire({ now, uploadsBefore: now - UPLOAD_MS, limit: ROWS });
				for (const id of freed) await removeBytes(id);
				if (removed === 0) return HOUR_MS;
			}
		},
	});
}
