/** `/v1/audit` (D42). */
import { CURSOR, LIMIT } from "../../kernel/api/definition/params.ts";
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { valueOf } from "../../kernel/http/exchange/call.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { AuditLog } from "./audit-log.ts";
import { ACTION_FILTER, type AUDIT_ROUTES, KEY_FILTER } from "./routes.ts";

export function auditHandlers(log: AuditLog): HandlersOf<typeof AUDIT_ROUTES> {
	return {
		async listAudit(call) {
			const { entries, next } = await log.list({
				keyId: valueOf(call, KEY_FILTER),
				action: valueOf(call, ACTION_FILTER),
				cursor: valueOf(call, CURSOR),
				limit: valueOf(call, LIMIT),
			});
			return {
				entries: entries.map((entry) => ({ ...entry, at: isoTime(entry.at) })),
				next: next ?? null,
			};
		},
	};
}
