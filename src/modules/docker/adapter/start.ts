/** Starts a worker with an adapter: first its server, then the adapter, which must know the server's address. */
import type { Clock } from "../../../kernel/system/clock.ts";
import { containerName, serverName } from "../container-options.ts";
import { type ContainerStart, contextOf, recheckIfUnanswered, runContainer } from "../start-container.ts";
import { adapterOptions, type AdapterSpec, serverAddress, serverOptions } from "./options.ts";

/**
 * Returns the id of the adapter's container. If the server ended at once, the adapter is not started, and what is
 * returned is the name that its container would have: the watch of both finds the end of the server. Errors are
 * those of `startContainer`, and leave neither container behind. `image`: has the adapter.
 */
export async function startWithAdapter(
	clock: Clock,
	q: ContainerStart & { spec: AdapterSpec; image: string },
): Promise<string> {
	const { spec, host, image } = q;
	const server = serverName(spec.workerId);
	return await recheckIfUnanswered(host, async () => {
		const context = await contextOf(q);
		await runContainer(clock, q, (raisesLimits) => serverOptions(spec, { ...context, raisesLimits }));
		try {
			const address = serverAddress(spec, await host.daemon.inspect(server));
			if (address === undefined) return containerName(spec.workerId);
			const options = adapterOptions(spec, context, { image, address });
			return await runContainer(clock, { ...q, gpus: [] }, () => options);
		} catch (error) {
			await host.removals.remove(server).catch(() => void host.recheck());
			throw error;
		}
	});
}
