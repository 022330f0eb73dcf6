/** Hosts of the configuration, and which get no workers (D44). */
import type { HostView } from "../../core/workers/hosts.ts";
import { loop } from "../../system/loop.ts";
import type { WorkersContext } from "./workers-context.ts";

/** Time between two reads of what other servers drained; without other servers or hosts. */
const READ_MS = 4000;
const ALONE_MS = 3_600_000;

export function createHosts(d: WorkersContext) {
	const launchers = [...d.launchers.values()].flatMap(({ hosts }) => (hosts ? [hosts] : []));
	const views = (): HostView[] => launchers.flatMap((each) => each.views());

	/** Must be done before the first worker starts. */
	async function read(): Promise<void> {
		const drained = new Set(await d.store.hosts.drained());
		for (const each of launchers) each.setDrained(drained);
	}

	return {
		list: views,
		read,
		/** Returns undefined if there is no such host. */
		async drain(name: string, drained: boolean): Promise<HostView | undefined> {
			const find = (): HostView | undefined => views().find((host) => host.name === name);
			if (!find()) return undefined;
			await d.store.hosts.drain({ name, drained, now: d.now() });
			await read();
			return find();
		},
		service: loop({
			clock: d.clock,
			retryMs: READ_MS,
			onError: (error) => d.events.emit("fault", { where: "reading drained hosts", error }),
			async step() {
				await read();
				return d.cluster.shared && views().length > 0 ? READ_MS : ALONE_MS;
			},
		}),
	};
}
