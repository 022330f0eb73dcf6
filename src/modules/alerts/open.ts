/** Opens alerts: with settings they are evaluated, without them only listed (D53). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { createAlerts } from "./alerts.ts";
import { alertHandlers } from "./handlers.ts";
import { alertSender } from "./sender.ts";
import type { AlertSettings } from "./settings.ts";

export async function openAlerts(kernel: Kernel, settings: AlertSettings | undefined): Promise<OpenModule> {
	const send = alertSender(kernel.post({ allowPrivateNetworks: true }));
	const alerts = createAlerts({ ...kernel, settings, send });
	return { handlers: alertHandlers(alerts), services: alerts.services };
}
