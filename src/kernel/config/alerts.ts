/** `alerts` of `sluice.yaml` (D53). */
import { ALERTS_SCHEMA, alertSettings, type AlertSettings, type AlertsFile } from "../core/alerts/alert-settings.ts";
import { withDurations } from "../core/durations.ts";
import { check, isAbsent, isObject } from "../lib/schema.ts";
import { type Variables, withVariables } from "./variables.ts";

/** `raw` may have any form. */
export function readAlerts(
	raw: unknown,
	{ path, variables }: { path: string; variables: Variables },
	problems: string[],
): AlertSettings | undefined {
	if (isAbsent(raw)) return undefined;
	const before = problems.length;
	const given = withDurations(ALERTS_SCHEMA, withVariables(withoutAbsent(raw), `${path}: alerts`, variables));
	if (problems.length === before)
		for (const { field, message } of check(ALERTS_SCHEMA, given, "alerts"))
			problems.push(`${path}: ${field} ${message}`);
	return problems.length === before ? alertSettings(given as AlertsFile) : undefined;
}

/** Leaves out members that are empty in the file: they have their defaults (D4). */
function withoutAbsent(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(withoutAbsent);
	if (!isObject(value)) return value;
	const given = Object.entries(value).filter(([, member]) => !isAbsent(member));
	return Object.fromEntries(given.map(([name, member]) => [name, withoutAbsent(member)]));
}
