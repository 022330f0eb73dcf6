/** Alerts that the service evaluates (D53, D39). */
import { SILENCE_SCHEMA } from "./silence.ts";
import { ERRORS } from "./errors.ts";
import { text } from "../../kernel/api/definition/params.ts";
import { emptyAnswer, NO_BODY, route } from "../../kernel/api/definition/route.ts";
import { FLAG, list, listIn, MOMENT, object, type Static, TEXT, TEXTS } from "../../kernel/api/definition/schema.ts";

const ALERT = object({
	name: TEXT,
	severity: { enum: ["critical", "warning"], description: "critical: jobs do not run, or are refused." },
	labels: { type: "object", additionalProperties: TEXT, description: "endpoint, instance, budget or reason." },
	value: { type: "number", description: "In seconds, as a share, or a count." },
	summary: TEXT,
	since: { ...MOMENT, description: "When it fired." },
	runbook: { ...TEXT, description: "Address of the page with what to do." },
	"notifiedAt?": { ...MOMENT, description: "The last message, once all receivers have it." },
	"silencedUntil?": MOMENT,
});
export type Alert = Static<typeof ALERT>;

const SILENCE = object({
	name: TEXT,
	"endpoint?": TEXT,
	until: MOMENT,
	"comment?": TEXT,
});
export type Silence = Static<typeof SILENCE>;

const ALERTS = object({
	enabled: { ...FLAG, description: "Whether sluice.yaml has alerts." },
	alerts: list(ALERT),
	silences: list(SILENCE),
	"receivers?": { ...TEXTS, description: "Number, type and host of each; only with an admin key." },
});
export type Alerts = Static<typeof ALERTS>;

const LIST_ALERTS = route("listAlerts", "GET /v1/alerts", "read", {
	summary: "Alerts that fire, the oldest first, and silences. A key for some endpoints gets only theirs.",
	answer: { description: "The alerts.", schema: ALERTS },
});

export const SILENCED_ENDPOINT = text("endpoint", 64, "The endpoint of the silence; absent: the silence of all.");

const SILENCE_ALERT = route("silenceAlert", "PUT /v1/alerts/:alert/silence", "admin", {
	summary: "Suppresses messages about an alert for a time. If it still fires at the end, a message is sent then.",
	answer: { description: "The silence.", schema: SILENCE },
	body: {
		description: "How long, and of which endpoint.",
		schema: SILENCE_SCHEMA,
		checked: true,
	},
});

const END_SILENCE = route("endSilence", "DELETE /v1/alerts/:alert/silence", "admin", {
	summary: "Ends a silence.",
	answer: emptyAnswer("Done."),
	body: NO_BODY,
	query: [SILENCED_ENDPOINT],
	errors: [ERRORS.silence_not_found, "bad_request"],
});

const TEST_RESULT = object({ receiver: TEXT, "error?": { ...TEXT, description: "Why it has not got it." } });
export type TestResult = Static<typeof TEST_RESULT>;

const TEST_ALERTS = route("testAlerts", "POST /v1/alerts/test", "admin", {
	summary: "Sends a test message to each receiver of alerts.",
	answer: {
		description: "How each receiver answered.",
		schema: listIn("receivers", TEST_RESULT),
	},
	body: NO_BODY,
});

export const ALERT_ROUTES = [LIST_ALERTS, TEST_ALERTS, SILENCE_ALERT, END_SILENCE] as const;
