/** The setting `http` of endpoints. */
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import type { EndpointMember } from "../../kernel/core/endpoints/endpoint-member.ts";
import {
	adapts,
	countsRoom,
	isManaged,
	isServerContained,
	LAUNCHERS,
	mostAwake,
	sharesPorts,
} from "../../kernel/launchers/index.ts";
import { type Fault, listText } from "../../kernel/lib/schema.ts";
import {
	type HttpSetting,
	type Mapping,
	membersOf,
	type Place,
	PRESET_NAMES,
	resolveHttp,
	variablesOf,
} from "./resolve.ts";

/** Faults that an answer has at most. */
const MOST_FAULTS = 100;

const CONTAINED = "Write the port on which its program listens, such as http.port: 8000.";

export const HTTP: EndpointMember<HttpSetting> = {
	name: "http",
	schema: {
		oneOf: [{ type: "string" }, { type: "object" }],
		description:
			"Workers send jobs to an HTTP server as plain requests: the name of a preset, or an object whose members say " +
			`how jobs become requests and answers become outputs. Presets: ${PRESET_NAMES.join(", ")}. The launcher starts ` +
			"the server, and an adapter beside it. With the launcher external, `sluice connect` does it for a server that " +
			"runs already. See the guide on HTTP workers.",
		examples: [{ port: 8000, ready: { path: "/health" }, request: { path: "/predict" } }],
		"x-message": "must be the name of a preset, such as raw, or an object such as { port: 8000 }.",
	},
	faults(value, endpoint) {
		const { type } = endpoint.launcher;
		if (!adapts(type)) return [launcherFault(type)];
		const read = resolveHttp(value, { isLaunched: isManaged(type) });
		if (!read.ok) return read.faults.slice(0, MOST_FAULTS).map(({ path, message }) => ({ field: path, message }));
		return [...placeFaults(read.mapping.place, endpoint), ...variableFaults(read.mapping, endpoint)];
	},
	asObject: membersOf,
	hasSleep(value) {
		const read = resolveHttp(value, { isLaunched: false });
		// One that cannot be read has faults of its own.
		return !read.ok || read.mapping.sleep !== undefined;
	},
};

function launcherFault(type: string): Fault {
	const able = LAUNCHERS.filter((each) => adapts(each.type)).map((each) => each.type);
	return {
		field: "http",
		message: `is for the launchers ${listText(able, "and")}; workers of ${type} take jobs themselves.`,
	};
}

/** A header whose variable is missing would be left out. `sluice connect` has variables of its own. */
function variableFaults(mapping: Mapping, { env, launcher }: Endpoint): Fault[] {
	if (!isManaged(launcher.type)) return [];
	return variablesOf(mapping)
		.filter((name) => !Object.hasOwn(env, name))
		.map((name) => ({
			field: `env.${name}`,
			message: `is missing: a header of http sends it as {env.${name}}. Write it into env, or remove the header.`,
		}));
}

/** Where a server can be depends on what starts it. */
function placeFaults(place: Place, endpoint: Endpoint): Fault[] {
	const { type } = endpoint.launcher;
	const fault = (name: string, message: string): Fault[] => [{ field: `http.${name}`, message }];
	const isLaunched = isManaged(type);
	if ("url" in place && isLaunched)
		return fault(
			"url",
			`is for the launcher external: write the port on which the server that ${type} starts listens.`,
		);
	if ("socket" in place && isServerContained(type))
		return fault("socket", `is not seen by workers of ${type}, whose server has a container of its own. ${CONTAINED}`);
	if (!("port" in place) || place.port !== 0) return sharedPlaceFaults(place, endpoint);
	if (isServerContained(type))
		return fault("port", `must not be 0 for workers of ${type}: a container has ports of its own. ${CONTAINED}`);
	if (!isLaunched)
		return fault("port", "must be the port on which the server listens; 0 is for a command that is given {port}.");
	return [];
}

/** A second server cannot listen where the first one does, and its adapter would send its jobs to the first one. */
function sharedPlaceFaults(place: Place, endpoint: Endpoint): Fault[] {
	const { launcher, sleep } = endpoint;
	// One that sleeps still listens, and is not counted.
	const canBeSeveral = mostAwake(endpoint) > 1 || sleep !== undefined;
	if (!sharesPorts(launcher) || !canBeSeveral) return [];
	const surge = countsRoom(endpoint) ? " and release.maxSurge: 0" : "";
	const alone = `workersMax: 1${surge}${sleep ? ", without sleep" : ""}`;
	if (isServerContained(launcher.type))
		return [
			{
				field: "http.port",
				message:
					"is a port of the machine for workers with its network, so two of them cannot have it: " +
					`write another network in launcher, or ${alone}.`,
			},
		];
	const name = "socket" in place ? "socket" : "port";
	return [
		{
			field: `http.${name}`,
			message:
				`must not be the same for two workers on a machine: write http.port: 0, and {port} in launcher.command ` +
				`where the server takes its port. One worker may keep it: ${alone}.`,
		},
	];
}
