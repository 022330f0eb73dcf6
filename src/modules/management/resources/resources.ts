/** Objects of the management API that are no endpoints. */
import type { ManagementRules } from "../rules.ts";
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
	rules: ManagementRules;
	dataCenters: readonly string[];
}

export function createResources(d: Deps): Resources {
	const registries = logins(d);
	const variables = secrets(d);
	return {
		secrets: variables,
		logins: registries,
		volumes: volumes(d),
		templates: templates({ ...d, logins: registries, secrets: variables }),
	};
}
