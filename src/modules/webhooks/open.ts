/** Opens webhooks: deliveries are sent from the start on, and addresses of submissions are checked (D21). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { addressFault } from "../../kernel/post/target.ts";
import { webhookFamilies } from "./families.ts";
import { webhookHandlers } from "./handlers.ts";
import { createWebhooks } from "./webhooks.ts";

export async function openWebhooks(kernel: Kernel): Promise<OpenModule> {
	const { allowPrivateNetworks } = kernel;
	const webhooks = createWebhooks({ ...kernel, send: kernel.post({ allowPrivateNetworks }) });
	return {
		handlers: webhookHandlers(webhooks),
		services: webhooks.services,
		families: webhookFamilies(kernel),
		hooks: { webhookFault: (url) => addressFault(url, allowPrivateNetworks) },
	};
}
