/**
 * A setting of endpoints that a module defines. The kernel keeps its value as it was given, and counts it among the
 * settings with which workers are launched: a change replaces them, as a release (D50).
 */
import type { Fault, Schema } from "../../lib/schema.ts";
import type { Endpoint } from "./endpoint.ts";
import { endpointSchema } from "./endpoint-schema.ts";

export interface EndpointMember<Value = unknown> {
	readonly name: string;
	/** Has a description. Without the member in the settings there is no value, so it has no default. */
	readonly schema: Schema;
	/**
	 * Rules that the schema does not express, also between settings. `value` fits the schema. Fields are paths from the
	 * endpoint, such as `http.request.path`.
	 */
	faults(value: Value, endpoint: Endpoint): Fault[];
	/**
	 * The object that a value of another type stands for: a merge patch with an object changes it. Without this function
	 * the patch replaces such a value (RFC 7396).
	 */
	asObject?(value: Value): Readonly<Record<string, unknown>>;
	/** Why it needs the option `publicUrl`, as the rest of a sentence. Undefined where it does not. */
	needsPublicUrl?(value: Value): string | undefined;
	/** Whether workers can sleep without commands in the setting `sleep`: `sluice-http sleep` and `wake` do it. */
	hasSleep?(value: Value): boolean;
}

/** The value of a member; undefined where the endpoint has none. */
export function memberOf<Value>(endpoint: Endpoint, { name }: EndpointMember<Value>): Value | undefined {
	return moduleMembers(endpoint)[name] as Value | undefined;
}

/** The settings of an endpoint, or a part of them, that modules define: all that the kernel does not name. */
export function moduleMembers(settings: object): Readonly<Record<string, unknown>> {
	return Object.fromEntries(Object.entries(settings).filter(([name]) => !KERNEL_NAMES.has(name)));
}

const KERNEL_NAMES: ReadonlySet<string> = new Set(["id", ...Object.keys(endpointSchema({}).properties)]);
