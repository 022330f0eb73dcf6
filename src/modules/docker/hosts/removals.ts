/** Removes containers of a host. Those that its daemon refuses to remove are remembered and tried again. */
import type { Daemon } from "../daemon.ts";
import { statusOf } from "../daemon-calls.ts";

export type Removals = ReturnType<typeof removals>;

export function removals({ daemon, log, where }: { daemon: Daemon; log: (message: string) => void; where: string }) {
	const refused = new Set<string>();

	/**
	 * Removes a container. Returns whether it was removed or is being removed. A refusal is logged once. Throws without
	 * an answer.
	 */
	async function remove(container: string): Promise<boolean> {
		try {
			await daemon.remove(container);
		} catch (error) {
			const status = statusOf(error);
			if (status === undefined) throw error;
			if (status !== 404 && status !== 409) {
				const why = (error as Error).message.trim();
				if (!refused.has(container)) log(`container ${container}${where} was not removed, trying again: ${why}`);
				refused.add(container);
				return false;
			}
		}
		refused.delete(container);
		return true;
	}

	return {
		remove,
		/** Whether the daemon refused to remove the container; while it runs it holds its GPUs. */
		isRefused: (container: string) => refused.has(container),
		async retry(): Promise<void> {
			for (const container of [...refused]) await remove(container);
		},
	};
}
