import type { MANAGEMENT_ROUTES } from "../../api/management/routes.ts";
import { listBuilds, listPods, unsupported } from "./unsupported-api.ts";
import { streamLogs } from "./worker-logs-api.ts";
import * as catalog from "./catalog-api.ts";
import * as managed from "./endpoints-api.ts";
import * as managedReleases from "./releases-api.ts";
import * as managedWorkers from "./workers-api.ts";
import { logins, secrets, templates, volumes } from "./resources-api.ts";
import type { HandlersOf } from "../server/route.ts";

export const MANAGEMENT_HANDLERS: HandlersOf<typeof MANAGEMENT_ROUTES> = {
	streamWorkerLogs: streamLogs,
	listManagedReleases: managedReleases.list,
	listManaged: managed.list,
	createManaged: managed.create,
	getManaged: managed.get,
	updateManaged: managed.update,
	deleteManaged: managed.remove,
	listManagedWorkers: managedWorkers.list,
	listBuilds,
	listTemplates: templates.list,
	createTemplate: templates.create,
	getTemplate: templates.get,
	changeTemplate: templates.change,
	removeTemplate: templates.remove,
	listPublicTemplates: templates.listPublic,
	listLogins: logins.list,
	createLogin: logins.create,
	getLogin: logins.get,
	removeLogin: logins.remove,
	listVolumes: volumes.list,
	createVolume: volumes.create,
	getVolume: volumes.get,
	changeVolume: volumes.change,
	removeVolume: volumes.remove,
	listSecrets: secrets.list,
	createSecret: secrets.create,
	getSecret: secrets.get,
	changeSecret: secrets.change,
	removeSecret: secrets.remove,
	listGpuTypes: catalog.listGpus,
	getGpuType: catalog.getGpu,
	listCpuTypes: catalog.listCpus,
	getCpuType: catalog.getCpu,
	listDataCenters: catalog.listCenters,
	getDataCenter: catalog.getCenter,
	listPods,
	unsupported,
};
