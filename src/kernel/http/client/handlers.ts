import type { CLIENT_ROUTES } from "../../api/jobs.ts";
import { stream } from "./stream-api.ts";
import * as client from "./client-api.ts";
import type { HandlersOf } from "../server/route.ts";

export const CLIENT_HANDLERS: HandlersOf<typeof CLIENT_ROUTES> = {
	run: client.run,
	runsync: client.runsync,
	status: client.status,
	statusSync: client.statusSync,
	stream,
	cancel: client.cancel,
	retry: client.retry,
	purgeQueue: client.purge,
	requests: client.requests,
	health: client.health,
};
