/** Opens RunPod's management API at its first call, or for a worker that needs a login or a secret of it (D49). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { managementHandlers } from "./handlers.ts";
import { managedEndpoints } from "./endpoints/managed-endpoints.ts";
import { knownModels } from "./endpoints/gpu-pools.ts";
import { createResources } from "./resources/resources.ts";
import { DATA_CENTER } from "./routes/catalog.ts";
import type { ManagementRules } from "./rules.ts";

export function openManagement(kernel: Kernel, rules: ManagementRules = {}): OpenModule {
	const { cluster, endpoints, workers, hosts } = kernel;
	const dataCenters = [DATA_CENTER.id];
	const resources = createResources({ ...kernel, rules, dataCenters });
	const managed = managedEndpoints({
		endpoints,
		resources,
		rules,
		dataCenters,
		// Each server may have other GPUs.
		gpuModels: async () => (cluster.shared ? undefined : knownModels(await workers.gpus.list(), hosts.list())),
	});
	return {
		handlers: managementHandlers({ managed, resources }),
		registryLogin: resources.logins.loginOf,
		workerVariables: resources.secrets.resolve,
	};
}
