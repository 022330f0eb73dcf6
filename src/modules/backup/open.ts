/** Opens backups, at the first call (D46). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { backups } from "./backups.ts";
import { backupHandlers } from "./handlers.ts";

export async function openBackup(kernel: Kernel): Promise<OpenModule> {
	const { service, ...made } = backups(kernel);
	return { handlers: backupHandlers(made, kernel.store), services: [service] };
}
