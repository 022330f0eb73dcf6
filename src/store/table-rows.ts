/** Rows of small tables with the same columns in both dialects. */
import type { EndpointRow } from "./contract/endpoints.ts";
import type { ReceiverRow } from "../core/receiver.ts";
import type { KeyRow } from "./contract/keys.ts";
import type { MetricsRow } from "./contract/metrics.ts";
import type { RegistryRow } from "./contract/registries.ts";
import type { SessionRow } from "./contract/sessions.ts";
import type { ClockStep } from "./contract/time.ts";
import type { TokenRow } from "./contract/workers.ts";
import type { DeliveryState, DeliveryTry } from "../core/delivery.ts";
import type { NumberedDelivery } from "./operations/steps.ts";

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

/** Columns as {@link sessionFrom} reads them and {@link sessionValues} returns them. */
export const SESSION_COLUMNS =
	"id, hash, page, key_id, mark, by_link, created_at, until, last_used_at, address, client";

export function sessionFrom(values: readonly unknown[]): SessionRow {
	const [id, hash, page, keyId, mark, byLink, createdAt, until, lastUsedAt, address, client] = values as [
		string,
		string,
		string,
		string,
		string,
		boolean | number,
		number,
		number,
		number,
		string,
		string,
	];
	const row = { id, hash, page, keyId, mark, createdAt, until, lastUsedAt, address, client };
	return { ...row, byLink: Boolean(byLink) };
}

/** `byLink` is a boolean: SQLite takes a number. */
export function sessionValues(row: SessionRow): (string | number | boolean)[] {
	const { id, hash, page, keyId, mark, byLink, createdAt, until, lastUsedAt } = row;
	const { address, client } = row;
	return [id, hash, page, keyId, mark, byLink, createdAt, until, lastUsedAt, address, client];
}

/** Columns as {@link registryFrom} reads them. */
export const REGISTRY_COLUMNS = "registry, username, password, updated_at";

export function registryFrom(values: readonly unknown[]): RegistryRow {
	const [registry, username, password, updatedAt] = values as [string, string, string, number];
	return { registry, username, password, updatedAt };
}

/** Conditions on `audit` and their values; `parameter` is the n-th of them, from 1. */
export function auditFilter(
	{ keyId, action }: { keyId?: string | undefined; action?: string | undefined },
	parameter: (n: number) => string,
): { where: string; values: string[] } {
	const given = [
		["key_id", keyId],
		["action", action],
	].filter((each): each is [string, string] => each[1] !== undefined);
	return {
		where: given.map(([column], n) => `${column} = ${parameter(n + 1)} AND `).join(""),
		values: given.map(([, value]) => value),
	};
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

/** Columns as {@link receiverFrom} reads them, of `receivers`. */
export const RECEIVER_COLUMNS = [
	"endpoint",
	"receiver",
	"failing_since",
	"failures",
	"failed",
	"unanswered",
	"reason",
	"paused_until",
	"disabled_at",
];

export function receiverFrom(values: readonly unknown[]): ReceiverRow {
	const [endpoint, receiver, failingSince, failures, failed, unanswered, reason, paused, disabled] = values as [
		string,
		string,
		number,
		number,
		number,
		number,
		string,
		number | null,
		number | null,
	];
	return {
		endpoint,
		receiver,
		failingSince,
		failures,
		failed,
		unanswered,
		reason,
		pausedUntil: paused ?? undefined,
		disabledAt: disabled ?? undefined,
	};
}

/** The values of {@link RECEIVER_COLUMNS}. */
export function receiverValues(row: ReceiverRow): (string | number | null)[] {
	return [
		row.endpoint,
		row.receiver,
		row.failingSince,
		row.failures,
		row.failed,
		row.unanswered,
		row.reason,
		row.pausedUntil ?? null,
		row.disabledAt ?? null,
	];
}

/** Columns as {@link keyFrom} reads them. */
export const KEY_COLUMNS =
	"id, hash, name, scopes, endpoints, created_at, expires_at, last_used_at, last_used_address, " +
	"previous_hash, previous_until";

/** Its name as stored. */
export function keyFrom(values: readonly unknown[]): KeyRow {
	const [id, hash, name, scopes, endpoints, createdAt, expiresAt, lastUsedAt, lastUsedAddress, previousHash, until] =
		values as [
			string,
			string,
			string,
			string,
			string | null,
			number,
			number | null,
			number | null,
			string | null,
			string | null,
			number | null,
		];
	return {
		id,
		hash,
		name,
		scopes: JSON.parse(scopes) as string[],
		endpoints: endpoints === null ? undefined : (JSON.parse(endpoints) as string[]),
		createdAt,
		expiresAt: expiresAt ?? undefined,
		lastUsedAt: lastUsedAt ?? undefined,
		lastUsedAddress: lastUsedAddress ?? undefined,
		previous: previousHash === null ? undefined : { hash: previousHash, until: until ?? 0 },
	};
}

/** Columns as {@link tokenFrom} reads them. */
export const TOKEN_COLUMNS = "hash, endpoint, worker, created_at";

export function tokenFrom(values: readonly unknown[]): TokenRow {
	const [hash, endpoint, worker, createdAt] = values as [string, string, string | null, number];
	return { hash, endpoint, worker: worker ?? undefined, createdAt };
}

/** Columns as {@link deliveryFrom} reads them. */
export const DELIVERY_COLUMNS = "number, id, endpoint, job, url, state, tries, used, created_at, due_at";

/** Its URL as stored. */
export function deliveryFrom(values: readonly unknown[]): NumberedDelivery {
	const [number, id, endpoint, job, url, state, tries, used, createdAt, dueAt] = values as [
		number,
		string,
		string,
		string,
		string,
		DeliveryState,
		string,
		number,
		number,
		number | null,
	];
	return {
		number,
		id,
		endpoint,
		job,
		url,
		state,
		tries: JSON.parse(tries) as DeliveryTry[],
		used,
		createdAt,
		dueAt: dueAt ?? undefined,
	};
}
