/** The variables by which a launched worker stores files (D60). */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import type { AddedVariables } from "../../../kernel/engine/context.ts";
import { credentialsOf, epochOf, type ServiceSecret } from "../requests/credentials.ts";
import { hasFiles } from "./member.ts";

/** Names that RunPod's SDK reads. */
const NAMES = ["BUCKET_ENDPOINT_URL", "BUCKET_ACCESS_KEY_ID", "BUCKET_SECRET_ACCESS_KEY"] as const;

/**
 * Undefined without the setting, and where the endpoint names a bucket of its own, to which these credentials must not
 * be sent. Throws an Error with a sentence.
 */
export function bucketVariables(
	endpoint: Endpoint,
	{ publicUrl, secret }: { publicUrl: string | undefined; secret: ServiceSecret },
): AddedVariables | undefined {
	if (!hasFiles(endpoint) || NAMES.some((name) => Object.hasOwn(endpoint.env, name))) return undefined;
	// An endpoint that was stored while the service had the option.
	if (publicUrl === undefined)
		throw new Error("The setting files needs the option publicUrl, with which links begin. Set it, or remove files.");
	const { keyId, secretKey } = credentialsOf(secret, endpoint.id, epochOf(endpoint));
	const [url, id, key] = NAMES;
	return { env: { [url]: `${publicUrl}/s3`, [id]: keyId, [key]: secretKey }, hidden: { [key]: secretKey } };
}
