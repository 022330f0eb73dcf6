import type { DOCUMENTATION_ROUTES, SERVICE_ROUTES } from "../../api/service.ts";
import { apiFile, apiReference, openapi } from "../docs/docs-api.ts";
import { alive, listServers, ready } from "./service-api.ts";
import * as documentation from "../docs/site-api.ts";
import * as logs from "../v1/logs-api.ts";
import type { HandlersOf } from "./route.ts";

export const SERVICE_HANDLERS: HandlersOf<typeof SERVICE_ROUTES> = {
	listServers,
	serviceLog: logs.serviceLog,
	healthz: alive,
	readyz: ready,
};

export const DOCUMENTATION_HANDLERS: HandlersOf<typeof DOCUMENTATION_ROUTES> = {
	openapi,
	apiFile,
	apiReference,
	apiFolder: documentation.apiFolder,
	docs: documentation.docs,
	docsFile: documentation.docsFile,
	docsFolder: documentation.docsFolder,
};
