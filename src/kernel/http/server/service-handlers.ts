import type { SERVICE_ROUTES } from "../../api/service.ts";
import { alive, listServers, ready } from "./service-api.ts";
import * as logs from "../v1/logs-api.ts";
import type { HandlersOf } from "./route.ts";

export const SERVICE_HANDLERS: HandlersOf<typeof SERVICE_ROUTES> = {
	listServers,
	serviceLog: logs.serviceLog,
	healthz: alive,
	readyz: ready,
};
