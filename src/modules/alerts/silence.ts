/** The body of `PUT /v1/alerts/{alert}/silence` (D53). */
import { duration, withDurations } from "../../kernel/core/durations.ts";
import { ENDPOINT_ID } from "../../kernel/core/endpoints/endpoint-schema.ts";
import { check, plainText, type Read, type Schema, withDefaults } from "../../kernel/lib/schema.ts";
import { ALERT_NAMES, type AlertName } from "./rules.ts";

export const MOST_SILENCES = 100;

export interface Silence {
	name: AlertName;
	/** Endpoint of the silenced alerts; absent: all endpoints and servers. */
	endpoint?: string | undefined;
	/** Time of the job clock. */
	until: number;
	comment?: string | undefined;
}

export const SILENCE_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		for: duration("seconds", [60, 90 * 86_400], {
			example: "2h",
			default: 2 * 3600,
			description: "How long, in seconds.",
		}),
		endpoint: { ...ENDPOINT_ID, description: "Only alerts of this endpoint; absent: of all endpoints and servers." },
		comment: { ...plainText(1, 200), description: "Why." },
	},
	"x-message": "must be an object with for, endpoint and comment.",
} as const satisfies Schema;

const NAME: Schema = { enum: ALERT_NAMES };

export function readAlertName(alert: string): Read<{ name: AlertName }> {
	const faults = check(NAME, alert, "alert");
	return faults.length === 0 ? { ok: true, name: alert as AlertName } : { ok: false, faults };
}

export function readSilence(alert: string, body: unknown, now: number): Read<{ silence: Silence }> {
	const read = readAlertName(alert);
	const given = withDurations(SILENCE_SCHEMA, body);
	const faults = [...(read.ok ? [] : read.faults), ...check(SILENCE_SCHEMA, given)];
	if (!read.ok || faults.length > 0) return { ok: false, faults };
	const { for: seconds, ...rest } = withDefaults(SILENCE_SCHEMA, given) as { for: number; endpoint?: string };
	return { ok: true, silence: { name: read.name, ...rest, until: now + seconds * 1000 } };
}
