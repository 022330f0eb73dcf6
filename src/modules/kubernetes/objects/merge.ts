/**
 * Merges a template over an object like Kubernetes' strategic merge patch: objects by member, lists with a known key
 * by entry, other lists as a whole.
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | Json;
export interface Json {
	[name: string]: JsonValue | undefined;
}

const KEYS: Readonly<Record<string, string>> = {
	containers: "name",
	initContainers: "name",
	volumes: "name",
	env: "name",
	imagePullSecrets: "name",
	resourceClaims: "name",
	volumeMounts: "mountPath",
	volumeDevices: "devicePath",
	ports: "containerPort",
	hostAliases: "ip",
	topologySpreadConstraints: "topologyKey",
};

/** Lists without a key to which entries of the template are appended. */
const APPENDED: ReadonlySet<string> = new Set(["tolerations", "envFrom"]);

/** Merges `over` into `base`; `null` removes a member. */
export function merged(base: Json, over: Json): Json {
	const result: Json = { ...base };
	for (const [name, value] of Object.entries(over)) {
		if (value === undefined) continue;
		if (value === null) delete result[name];
		else result[name] = mergedMember(name, result[name], value);
	}
	return result;
}

function mergedMember(name: string, base: JsonValue | undefined, over: JsonValue): JsonValue {
	if (isObject(over)) return merged(isObject(base) ? base : {}, over);
	if (!Array.isArray(base) || !Array.isArray(over)) return over;
	if (APPENDED.has(name)) return [...base, ...over];
	const key = KEYS[name];
	return key === undefined ? over : mergedByKey(key, base, over);
}

function mergedByKey(key: string, base: JsonValue[], over: JsonValue[]): JsonValue[] {
	const result = [...base];
	for (const entry of over) {
		const at = isObject(entry) ? result.findIndex((each) => isObject(each) && each[key] === entry[key]) : -1;
		const present = result[at];
		if (isObject(entry) && isObject(present)) result[at] = merged(present, entry);
		else result.push(entry);
	}
	return result;
}

export function isObject(value: unknown): value is Json {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
