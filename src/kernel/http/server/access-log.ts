/** A line of the log for each request (D51), if the service is configured so. */
import type { Socket } from "node:net";
import type { Clock } from "../../system/clock.ts";
import type { EventBus } from "../../events.ts";
import { type Call, paramOf } from "../exchange/call.ts";
import type { Route } from "./route.ts";

/** `on`: without what is called every few seconds: polls and pings of workers, reads of logs. */
export type AccessLog = "off" | "on" | "all";

/** Status of a request whose client closed the connection before the answer began, as in nginx. */
const CLOSED_BY_CLIENT = 499;

/** The ids that the service gives to jobs. */
const JOB = /^(?:sync-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns a function to call with each new call. */
export function accessLog(q: {
	clock: Clock;
	events: EventBus;
	log: AccessLog;
}): (call: Call, route: Route | undefined) => void {
	/** Bytes of the earlier requests of a connection. */
	const earlier = new WeakMap<Socket, { read: number; written: number }>();

	function ended(call: Call, route: Route | undefined, ms: number): void {
		const { req, res, engine, identity } = call;
		const { socket } = req;
		const { read, written } = earlier.get(socket) ?? { read: 0, written: 0 };
		earlier.set(socket, { read: socket.bytesRead, written: socket.bytesWritten });
		if (q.log === "on" && (route?.poll || route?.frequent)) return;
		// A client may put any text into a path, even a key.
		const named = paramOf(call, "endpoint");
		const endpoint = engine.endpoints.has(named) ? named : undefined;
		const id = paramOf(call, "job");
		const job = endpoint !== undefined && JOB.test(id) ? id : undefined;
		q.events.emit("request.served", {
			method: req.method ?? "",
			route: route?.path ?? "none",
			status: res.headersSent ? res.statusCode : CLOSED_BY_CLIENT,
			ms,
			bytesIn: socket.bytesRead - read,
			bytesOut: socket.bytesWritten - written,
			keyId: identity.principal?.keyId,
			requestId: res.loggedRequestId,
			traceId: call.trace?.context.traceId,
			endpoint,
			job: call.submitted ?? job,
		});
	}

	return (call, route) => {
		const began = q.clock.now();
		call.res.on("close", () => ended(call, route, Math.round(q.clock.now() - began)));
	};
}
