/** Ports for servers that tests stop and start again. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A free port on 127.0.0.1, below those that the system gives to outgoing connections: it is still
 * free at a restart.
 */
export async function freePort(): Promise<number> {
	for (;;) {
		const port = randomInt(10_240, 32_768);
		const probe = createServer();
		const free = await new Promise<boolean>((resolve) =>
			probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)),
		);
		if (!free) continue;
		await new Promise((resolve) => probe.close(resolve));
		return port;
	}
}
