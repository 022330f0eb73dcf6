/**
 * The thread in which `sluice serve` runs the service. A thread, because only there can the room
 * for objects of short life be bounded: left to itself it grows to 128 MB at the first rush of
 * callers and stays.
 */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { startApp } from "../compose.ts";
import type { App } from "../compose.ts";
import type { Config } from "../config.ts";
import { eventBus } from "../events.ts";
import { log } from "../log.ts";

/** What the thread says: once that it listens, with what the command prints, or why it cannot. */
export type ServiceMessage =
	| {
			kind: "listening";
			url: string;
			firstKey: string | undefined;
			consoleLink: string | undefined;
			endpoint: string | undefined;
	  }
	| { kind: "refused"; why: string };

/** What it is told. */
export type ServiceOrder = "stop";

const { config } = workerData as { config: Config };

function say(word: ServiceMessage): void {
	parentPort?.postMessage(word);
}

function whyNot(error: unknown): string {
	const { code, message } = error as NodeJS.ErrnoException;
	if (code === "EADDRINUSE")
		return `port ${config.port} on ${config.host} is in use. Choose another with --port, or 0 for a free one.`;
	if (code === "EACCES")
		return `listening on ${config.host}:${config.port} is not permitted: ${message}`;
	return message;
}

async function stop(app: App): Promise<void> {
	await app.stop();
	parentPort?.close();
}

const events = eventBus();
log({ events, clock: systemClock, write: (line) => process.stderr.write(line) });
try {
	const app = await startApp(config, { clock: systemClock, events, env: process.env });
	parentPort?.once("message", (order: ServiceOrder) => {
		if (order === "stop") void stop(app);
	});
	const { url, firstKey, consoleLink, engine } = app;
	say({
		kind: "listening",
		url,
		firstKey,
		consoleLink,
		endpoint: config.endpoints[0]?.id ?? [...engine.endpoints.all()][0]?.endpoint.id,
	});
} catch (error) {
	say({ kind: "refused", why: whyNot(error) });
}
