/** Objects of the management API that are no endpoints. */
import type { ManagementRules } from "../../core/management/rules.ts";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { type Logins, logins } from "./logins.ts";
import type { ResourceContext } from "./resource-table.ts";
import { type Secrets, secrets } from "./secrets.ts";
import { type Templates, templates } from "./templates.ts";
import { type Volumes, volumes } from "./volumes.ts";

export interface Resources {
	templates: Templates;
	logins: Logins;
	volumes: Volumes;
	secrets: Secrets;
}

interface Deps extends ResourceContext {
	endpoints: Pick<Endpoints, "all">;
	rules: ManagementRules;
	dataCenters: readonly string[];
}

export function createResources(d: Deps): Resources {
	const usedBy = (uses: (endpoint: Endpoint) => boolean): string[] =>
		d.endpoints.all().flatMap(({ endpoint }) => (uses(endpoint) ? [endpoint.id] : []));
	const registries = logins({
		...d,
		usedBy: (login) => usedBy((endpoint) => (endpoint.launcher as { registry?: string }).registry === login),
	});
	const variables = secrets(d);
	return {
		secrets: variables,
		logins: registries,
		volumes: volumes({
			...d,
			usedBy: (volume) => usedBy(({ management }) => management?.networkVolumes?.includes(volume) ?? false),
		}),
		templates: templates({ ...d, logins: registries, secrets: variables }),
	};
}
