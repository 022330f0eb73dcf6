/**
 * Runs the service in a thread, because only a thread can limit the young generation, which otherwise grows to 128
 * MB.
 */
import { MODULES } from "../../modules/index.ts";
import { isatty } from "node:tty";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../kernel/system/clock.ts";
import { startApp } from "../../kernel/compose.ts";
import type { Config } from "../../kernel/config/config.ts";
import { eventBus } from "../../kernel/events.ts";
import { log } from "../../kernel/log.ts";
import { eventsOf } from "../../kernel/module-host.ts";
import { lineWriter } from "../../kernel/system/line-writer.ts";

/** One at the start. `failed` also when the thread must end. */
export type ServiceMessage =
	| {
			kind: "listening";
			url: string;
			firstKey: string | undefined;
			consoleLink: string | undefined;
			endpoint: string | undefined;
			/** Reason for a read-only store. */
			readOnly: string | undefined;
	  }
	| { kind: "failed"; reason: string }
	/** The thread can be terminated. */
	| { kind: "stopped" };

/** After `stop` workers run on where they can, after `end` they do not. */
export type ServiceCommand = "stop" | "end" | "reload";

const { config } = workerData as { config: Config };

const send = (message: ServiceMessage): void => parentPort?.postMessage(message);

function startFailure(error: unknown): string {
	const { code, message, syscall } = error as NodeJS.ErrnoException;
	if (code === "EADDRINUSE")
		return (
			`port ${config.port} on ${config.host} is in use. Stop the program that uses it, such as another ` +
			"sluice, or choose another port with --port; 0 is a free one."
		);
	if (code === "EACCES" && syscall === "listen")
		return `listening on ${config.host}:${config.port} is not permitted: ${message}`;
	if (code === "EACCES" || syscall === "mkdir")
		return `${message}. Give the user of the service write access there, or name another place with --store.`;
	return message;
}

const events = eventBus();
log({
	events,
	clock: systemClock,
	write: lineWriter(process.stderr, (lines) => events.emit("log.dropped", { lines })),
	level: config.logLevel,
	more: eventsOf(MODULES),
	format: config.logFormat === "auto" ? (isatty(2) ? "text" : "json") : config.logFormat,
});
let readOnly: string | undefined;
events.on("store.away", ({ why }) => (readOnly = why));
events.on("store.back", () => (readOnly = undefined));
events.on("store.failed", ({ why }) => send({ kind: "failed", reason: why }));
try {
	const app = await startApp(config, { modules: MODULES, clock: systemClock, events, env: process.env });
	parentPort?.on("message", (command: ServiceCommand) => {
		if (command === "reload") app.reload();
		else
			void app.stop({ leaveWorkers: command === "stop" && !config.stopWorkers }).then(() => {
				send({ kind: "stopped" });
				parentPort?.close();
			});
	});
	const { url, firstKey, consoleLink, engine } = app;
	send({
		kind: "listening",
		url,
		firstKey,
		consoleLink,
		endpoint: config.endpoints[0]?.id ?? [...engine.endpoints.all()][0]?.endpoint.id,
		readOnly,
	});
} catch (error) {
	send({ kind: "failed", reason: startFailure(error) });
}
