import type { SERVICE_ROUTES } from "../../api/service.ts";
import { alive, listServers, ready } from "./service-api.ts";
import type { HandlersOf } from "./route.ts";

export const SERVICE_HANDLERS: HandlersOf<typeof SERVICE_ROUTES> = {
	listServers,
	healthz: alive,
	readyz: ready,
};
