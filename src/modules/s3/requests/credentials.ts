/**
 * Credentials of S3 clients (D59). They are derived from the secret of the service, so that no row has them, and links
 * that they signed outlive the worker that signed them.
 */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { memberOf } from "../../../kernel/core/endpoints/endpoint-member.ts";
import type { Encryption } from "../../../kernel/secrets/encryption.ts";
import { FILES } from "../workers/member.ts";

/** The secret of the service, and the one before while it is replaced (`SLUICE_SECRET_PREVIOUS`). */
export type ServiceSecret = Pick<Encryption, "macs">;

export interface Credentials {
	/** `sluice-{endpoint}-{epoch}`. */
	keyId: string;
	/** 43 characters of base64url. */
	secretKey: string;
}

const KEY_ID = /^sluice-([a-zA-Z0-9_-]{1,64})-([1-9]\d{0,8})$/;

const keyIdOf = (endpoint: string, epoch: number): string => `sluice-${endpoint}-${epoch}`;

/** The credentials of an endpoint, with the current secret of the service. */
export function credentialsOf(secret: ServiceSecret, endpoint: string, epoch: number): Credentials {
	const keyId = keyIdOf(endpoint, epoch);
	return { keyId, secretKey: secretsOf(secret, keyId)[0]! };
}

/** The secrets with which requests of this key id may be signed, the current one first. */
export function secretsOf(secret: ServiceSecret, keyId: string): readonly string[] {
	return secret.macs(`Sluice S3 credentials ${keyId}`).map((mac) => mac.toString("base64url"));
}

/** Undefined if no endpoint has such a key id. */
export function parseKeyId(keyId: string): { endpoint: string; epoch: number } | undefined {
	const [, endpoint, epoch] = KEY_ID.exec(keyId) ?? [];
	return endpoint === undefined ? undefined : { endpoint, epoch: Number(epoch) };
}

/**
 * The epoch whose credentials are valid: 1, unless the endpoint's setting is `files: { epoch: N }`. A higher one voids
 * all credentials and links before it.
 */
export function epochOf(endpoint: Endpoint): number {
	const files = memberOf(endpoint, FILES);
	return (typeof files === "object" && files.epoch) || 1;
}
