/** Hosts of the configuration: what they show, and which get no workers (D44). */
import { ApiError } from "../../core/errors.ts";
import type { HostView } from "../../core/hosts.ts";
import type { Launcher } from "../../launchers/launcher.ts";
import { loop, type Service } from "../../service.ts";
import type { EngineContext } from "../context.ts";

/** Between two reads of what other servers drained, ms; without other servers or hosts. */
const READ_MS = 4000;
const ALONE_MS = 3_600_000;

export interface Hosts {
	/** Lists the hosts as this server sees them, in the order of the configuration. */
	list(): HostView[];
	/** Whether it gets no workers from now on; stored. Throws `host_not_found`. */
	drain(name: string, drained: boolean): Promise<HostView>;
}

export interface HostsDeps extends Pick<EngineContext, "clock" | "now" | "events" | "store"> {
	launchers: ReadonlyMap<string, Launcher>;
	/** Several servers share the store. */
	shared: boolean;
}

/** `read`: of what is stored, before the first worker starts. */
export function createHosts(d: HostsDeps): Hosts & { read(): Promise<void>; service: Service } {
	const launchers = [...d.launchers.values()].flatMap(({ hosts }) => (hosts ? [hosts] : []));
	const views = (): HostView[] => launchers.flatMap((each) => each.views());

	async function read(): Promise<void> {
		const drained = new Set(await d.store.hosts.drained());
		for (const each of launchers) each.setDrained(drained);
	}

	return {
		list: views,
		read,
		async drain(name, drained) {
			const find = (): HostView | undefined => views().find((host) => host.name === name);
			if (!find()) throw new ApiError("host_not_found", { host: name.slice(0, 128) });
			await d.store.hosts.drain({ name, drained, now: d.now() });
			await read();
			return find()!;
		},
		service: loop({
			clock: d.clock,
			retryMs: READ_MS,
			onError: (error) => d.events.emit("fault", { where: "reading drained hosts", error }),
			async step() {
				await read();
				return d.shared && views().length > 0 ? READ_MS : ALONE_MS;
			},
		}),
	};
}
