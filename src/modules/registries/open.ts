/** Opens the logins: those of `sluice.yaml` are stored before the first worker starts (D45). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { registryHandlers } from "./handlers.ts";
import { createLogins } from "./logins.ts";
import type { RegistrySettings } from "./settings.ts";

export async function openRegistries(kernel: Kernel, settings: RegistrySettings | undefined): Promise<OpenModule> {
	const logins = createLogins({ ...kernel, now: () => kernel.calendar.now() as number });
	if (settings) await logins.load(settings);
	return { handlers: registryHandlers(logins), registryLogin: logins.loginFor };
}
