/** The image of the adapter, which a launcher imports where its daemon is; a node of Kubernetes must have it. */
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { dockerDaemon } from "../../src/modules/docker/daemon.ts";
import { connectionOf } from "../../src/modules/docker/hosts/connection.ts";
import { adapterContent } from "../../src/modules/docker/images/adapter-files.ts";
import { adapterImage } from "../../src/modules/docker/images/adapter-image.ts";
import { transfers } from "../../src/modules/docker/images/transfers.ts";

/** Its name, once the daemon at this address has it. */
export async function importAdapterImage(address: string): Promise<string> {
	const daemon = dockerDaemon(connectionOf({ DOCKER_HOST: address }));
	const image = adapterImage({ daemon: () => daemon, transfers: transfers(clock), content: adapterContent });
	try {
		if (await image.isMissing()) await image.import({ signal: new AbortController().signal });
		return await image.name();
	} finally {
		daemon.close();
	}
}
