/** Removes files that have expired, and bytes that no row refers to (D56). */
import { unlessUnavailable } from "../../kernel/engine/context.ts";
import type { Kernel } from "../../kernel/module.ts";
import { loop, type Service } from "../../kernel/system/loop.ts";
import type { FileContents } from "./contents/contents.ts";

const HOUR_MS = 3_600_000;
const RETRY_MS = 60_000;

/** Rows in one step, so that other operations get their turn. */
const ROWS = 100;

type Context = Pick<Kernel, "clock" | "cluster" | "events" | "now" | "store">;

export function sweep(kernel: Context, contents: () => Promise<FileContents>): Service {
	const { store, cluster } = kernel;
	const stopped = new AbortController();
	const sweeps = loop({
		clock: kernel.clock,
		retryMs: RETRY_MS,
		onError: unlessUnavailable(kernel, "removing files"),
		step: async () => {
			if (!cluster.leads("sweep")) return RETRY_MS;
			const place = await contents();
			for (;;) {
				const ids = await store.files.expire({ now: kernel.now(), limit: ROWS });
				if (ids.length === 0) break;
				place.expired?.(ids);
			}
			// A file lives for an hour at least, so its bytes are old when it expires. An upload in progress, whose row is
			// still to be stored, has written within the hour.
			await place.sweep(HOUR_MS, stopped.signal);
			return HOUR_MS;
		},
	});
	return {
		start: () => sweeps.start(),
		stop() {
			stopped.abort();
			return sweeps.stop();
		},
	};
}
