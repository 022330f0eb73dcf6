/** Handlers of the management API by the names of its operations (D49). */
import type { MANAGEMENT_ROUTES } from "./routes/routes.ts";
import { listBuilds, listPods, unsupported } from "./unsupported-api.ts";
import { streamLogs } from "./endpoints/worker-logs-api.ts";
import * as catalog from "./catalog/catalog-api.ts";
import { endpointHandlers } from "./endpoints/endpoints-api.ts";
import * as managedReleases from "./endpoints/releases-api.ts";
import * as managedWorkers from "./endpoints/workers-api.ts";
import { loginHandlers, secretHandlers, templateHandlers, volumeHandlers } from "./resources/resources-api.ts";
import type { ManagedEndpoints } from "./endpoints/managed-endpoints.ts";
import type { Resources } from "./resources/resources.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";

export function managementHandlers({ managed, resources }: { managed: ManagedEndpoints; resources: Resources }) {
	const endpoints = endpointHandlers(managed);
	const logins = loginHandlers(resources.logins);
	const secrets = secretHandlers(resources.secrets);
	const templates = templateHandlers(resources.templates);
	const volumes = volumeHandlers(resources.volumes);
	return {
		streamWorkerLogs: streamLogs,
		listManagedReleases: managedReleases.list,
		listManaged: endpoints.list,
		createManaged: endpoints.create,
		getManaged: endpoints.get,
		updateManaged: endpoints.update,
		deleteManaged: endpoints.remove,
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
	} satisfies HandlersOf<typeof MANAGEMENT_ROUTES>;
}
