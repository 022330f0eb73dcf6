/** Opens the audit log: it records from the start on (D42). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { answeredOf } from "./answered.ts";
import { auditLog } from "./audit-log.ts";
import { auditHandlers } from "./handlers.ts";

export async function openAudit({ calendar, ...kernel }: Kernel): Promise<OpenModule> {
	// Entries have the time of day, also after the machine was suspended.
	const log = auditLog({ ...kernel, now: () => calendar.now() as number });
	return { handlers: auditHandlers(log), answered: answeredOf(log) };
}
