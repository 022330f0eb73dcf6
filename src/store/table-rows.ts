/** Rows of small tables with the same columns in both dialects. */
import type { EndpointRow } from "./contract/endpoints.ts";
import type { MetricsRow } from "./contract/metrics.ts";
import type { ClockStep } from "./contract/time.ts";

/** Columns as {@link endpointFrom} reads them. */
export const ENDPOINT_COLUMNS = "id, settings, secret, paused, removing, created_at";

export function endpointFrom(values: readonly unknown[]): EndpointRow {
	const [id, settings, secret, paused, removing, createdAt] = values as [
		string,
		string,
		string | null,
		boolean | number,
		boolean | number,
		number,
	];
	return {
		id,
		settings,
		secret: secret ?? undefined,
		paused: Boolean(paused),
		removing: Boolean(removing),
		createdAt,
	};
}

/** Columns as {@link metricsFrom} reads them. */
export const METRICS_COLUMNS = "endpoint, step, at, source, tally";

export function metricsFrom(values: readonly unknown[]): MetricsRow {
	const [endpoint, step, at, source, tally] = values as [string, number, number, string, string];
	return { endpoint, step, at, source, tally };
}

/** Name of the last time seen in `meta`. */
export const LAST_SEEN = "time";

/** Steps of the clock that are kept. */
export const KEPT_STEPS = 1000;

/** Columns `serial, at, ahead`. */
export function stepFrom(values: readonly unknown[]): ClockStep {
	const [serial, at, ahead] = values.map(Number) as [number, number, number];
	return { serial, at, ahead };
}
