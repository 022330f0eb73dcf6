/** Opens logs: at the first call of one of its routes. */
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { search, serviceLog, workerLog } from "./handlers.ts";
import type { LOG_ROUTES } from "./routes.ts";

export async function openLogs({ log, workerLogs }: Kernel): Promise<OpenModule> {
	const handlers: HandlersOf<typeof LOG_ROUTES> = {
		workerLogs: workerLog,
		searchLogs: (call) => search(call, workerLogs),
		serviceLog: (call) => serviceLog(call, log),
	};
	return { handlers };
}
