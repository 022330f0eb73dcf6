import { MEMBERS } from "#endpoint-members";
import { type Fault, isObject, listText, missing, type Schema, sentence } from "../lib/schema.ts";
import type { LauncherDefinition } from "./definition.ts";
import { memberOf } from "../core/endpoints/endpoint-member.ts";
import { endpointSchema } from "../core/endpoints/endpoint-schema.ts";
import { SLEEP } from "../core/endpoints/worker-schema.ts";
import { type Endpoint, mergeSettings, parseEndpoint } from "../core/endpoints/endpoint.ts";
import { canSleep, launcherFaults, LAUNCHERS, sharesGpus } from "./index.ts";

/** One branch per launcher, discriminated by `type`. */
export function launcherSchema(launchers: readonly LauncherDefinition[]): Schema {
	const types = listText(launchers.map(({ type }) => type));
	const message = `must be ${types}.`;
	return {
		oneOf: launchers.map(({ type, title, description, managed, settings }) => ({
			type: "object",
			title,
			additionalProperties: false,
			required: ["type", ...(settings.required ?? [])],
			properties: {
				type: { const: type, description, "x-message": message },
				...settings.properties,
			},
			"x-managed": managed,
		})),
		description: "How the endpoint gets its workers.",
		examples: [{ type: "process", command: ["node", "worker.js"] }],
		"x-message": "must be an object such as { type: process, command: [node, worker.js] }.",
	};
}

const KERNEL_SCHEMA = endpointSchema(launcherSchema(LAUNCHERS));
export const KERNEL_PROPERTIES = KERNEL_SCHEMA.properties;

/** Schemas of the settings that modules define, by name. */
export const MEMBER_PROPERTIES: Readonly<Record<string, Schema>> = Object.fromEntries(
	MEMBERS.map(({ name, schema }) => [name, schema]),
);

/** The type names the settings of the kernel only. */
export const ENDPOINT_SCHEMA: typeof KERNEL_SCHEMA = {
	...KERNEL_SCHEMA,
	properties: { ...KERNEL_PROPERTIES, ...MEMBER_PROPERTIES },
};

export function readEndpoint(id: string, raw: unknown): ReturnType<typeof parseEndpoint> {
	const read = parseEndpoint(ENDPOINT_SCHEMA, id, raw);
	if (!read.ok) return read;
	const { endpoint } = read;
	const faults = [
		...launcherFaults(endpoint.launcher),
		...sharingFaults(endpoint),
		...sleepFaults(endpoint),
		...memberFaults(endpoint),
	];
	return faults.length === 0 ? read : { ok: false, faults };
}

/** Applies a patch as {@link mergeSettings} does, but an object in it changes what a module's value stands for. */
export function patchSettings(current: Readonly<Record<string, unknown>>, patch: unknown): unknown {
	const given = isObject(patch) ? patch : {};
	const values = MEMBERS.flatMap(({ name, asObject }) => {
		const value = current[name];
		return asObject && value !== undefined && isObject(given[name]) ? [[name, asObject(value)] as const] : [];
	});
	return mergeSettings({ ...current, ...Object.fromEntries(values) }, patch);
}

/** What the settings need of the service and it does not have. `publicUrl`: its option. */
export function serviceFaults(endpoint: Endpoint, publicUrl: string | undefined): Fault[] {
	if (publicUrl !== undefined) return [];
	return MEMBERS.flatMap((member) => {
		const value = memberOf(endpoint, member);
		const why = value === undefined ? undefined : member.needsPublicUrl?.(value);
		return why === undefined ? [] : [{ field: member.name, message: `needs the option publicUrl: ${why}` }];
	});
}

function memberFaults(endpoint: Endpoint): Fault[] {
	return MEMBERS.flatMap((member) => {
		const value = memberOf(endpoint, member);
		return value === undefined ? [] : member.faults(value, endpoint);
	});
}

function sharingFaults({ gpuMemoryGb, launcher: { type } }: Endpoint): Fault[] {
	if (gpuMemoryGb === undefined || sharesGpus(type)) return [];
	const able = LAUNCHERS.filter((each) => each.sharesGpus).map((each) => each.type);
	const message = `is for the launchers ${able.join(" and ")}: workers of ${type} cannot share a GPU.`;
	return [{ field: "gpuMemoryGb", message }];
}

function sleepFaults(endpoint: Endpoint): Fault[] {
	const { sleep, gpusPerWorker, launcher } = endpoint;
	if (!sleep) return [];
	if (!canSleep(launcher))
		return [
			{
				field: "sleep",
				message:
					"is for the launchers process and docker, without launcher.hosts: " +
					"only GPUs of this machine are given up by a worker that sleeps. Remove it.",
			},
		];
	if (gpusPerWorker === 0)
		return [{ field: "sleep", message: "needs workers with GPUs: set gpusPerWorker or gpuMemoryGb." }];
	const isOptional = MEMBERS.some((member) => {
		const value = memberOf(endpoint, member);
		return value !== undefined && member.hasSleep?.(value);
	});
	const absent = (["command", "wakeCommand"] as const).filter((name) => !isOptional && sleep[name] === undefined);
	return absent.map((name) => ({ field: `sleep.${name}`, message: missing(sentence(SLEEP.properties![name]!)) }));
}
