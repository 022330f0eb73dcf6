/** Rate and concurrency limits (spec 8, D24): counted by this server, or by all that share a store. */
import type { Service } from "../../service.ts";
import type { EngineContext } from "../context.ts";
import { admission, type Admit } from "./admission.ts";
import { sharedAdmission } from "./shared-admission.ts";

export interface Limits {
	admit: Admit;
	services: readonly Service[];
}

interface Deps extends Pick<EngineContext, "clock" | "now" | "events" | "store"> {
	/** Id of this server. */
	server: string;
}

export function createLimits(d: Deps): Limits {
	const { limits } = d.store;
	if (!limits) return { admit: admission(d.now).admit, services: [] };
	const shared = sharedAdmission({ ...d, limits });
	return { admit: shared.admit, services: [shared.loop] };
}
