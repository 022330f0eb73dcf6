/** The audit log (D42). */
import { CURSOR, LIMIT, text } from "../../kernel/api/definition/params.ts";
import { route } from "../../kernel/api/definition/route.ts";
import { COUNT, MOMENT, object, pageOf, type Static, TEXT, TEXTS } from "../../kernel/api/definition/schema.ts";

export const AUDIT_ENTRY = object(
	{
		at: MOMENT,
		keyId: { ...TEXT, description: "Id of the caller's key; environment for SLUICE_API_KEY." },
		keyName: { ...TEXT, description: "Name of the caller's key." },
		address: { ...TEXT, description: "Address of the caller, or of the proxy before the service." },
		action: { ...TEXT, description: "The operationId of what was called." },
		subject: { ...TEXTS, description: "Ids of what it was about, such as endpoint and worker." },
		result: { ...TEXT, description: "ok, or the code of the error." },
		"requestId?": { ...TEXT, description: "X-Request-Id of the call; absent in entries of earlier versions." },
		"count?": {
			...COUNT,
			description:
				"How many times this key did this from this address, since an hour at most: after ten sign-ins only each " +
				"doubling has an entry.",
		},
	},
	{ description: "A change that an administrator made or tried, or values of variables that one was shown." },
);
export type AuditEntry = Static<typeof AUDIT_ENTRY>;

export const KEY_FILTER = text("key", 100, "Only entries of the key with this id.");
export const ACTION_FILTER = text("action", 100, "Only this operation, by its operationId.");

const LIST_AUDIT = route("listAudit", "GET /v1/audit", "admin", {
	summary: "What administrators changed, and the objects whose variables they read, most recent first.",
	answer: {
		description: "A page of entries.",
		schema: pageOf("entries", AUDIT_ENTRY),
	},
	query: [KEY_FILTER, ACTION_FILTER, LIMIT, CURSOR],
});

export const AUDIT_ROUTES = [LIST_AUDIT] as const;
