/** Endpoints of `sluice.yaml` (D35). */
import { dirname } from "node:path";
import type { Endpoint } from "../core/endpoints/endpoint.ts";
import { reservedFaults } from "../core/endpoints/reserved-ids.ts";
import { isAbsent, isObject } from "../lib/schema.ts";
import { readEndpoint } from "../launchers/endpoint-settings.ts";
import { resolvePaths } from "../launchers/index.ts";
import { parseFile, type Sources } from "./sources.ts";
import { type Variables, variables, withVariables } from "./variables.ts";

type Settings = Record<string, unknown>;
type Source = Pick<Sources, "env"> & { path: string };

interface FileEndpoint {
	endpoint: Endpoint;
	/** The settings in the file, with values of variables and absolute paths. */
	given: Settings;
}

export function readEndpoints(
	raw: unknown,
	source: { path: string; variables: Variables },
	problems: string[],
): FileEndpoint[] {
	const all: FileEndpoint[] = [];
	for (const [id, settings] of isObject(raw) ? Object.entries(raw) : []) {
		const at = `${source.path}: endpoints.${id}`;
		for (const { message } of reservedFaults(id, id)) problems.push(`${at} ${message}`);
		const given = isObject(settings) ? withValues(settings, at, source.variables) : (settings ?? {});
		const read = readEndpoint(id, given);
		if (!read.ok) {
			for (const { field, message } of read.faults) problems.push(`${at}${field === "" ? "" : `.${field}`} ${message}`);
			continue;
		}
		// Absolute, because the store outlives this working directory.
		const launcher = resolvePaths(read.endpoint.launcher, dirname(source.path));
		const own = given as Settings;
		all.push({
			endpoint: { ...read.endpoint, launcher },
			given: isAbsent(own["launcher"]) ? own : { ...own, launcher },
		});
	}
	return all;
}

function withValues(settings: Settings, at: string, of: Variables): Settings {
	const { env, webhookSecret } = settings;
	return {
		...settings,
		...(isObject(env) && { env: withVariables(env, `${at}.env`, of) }),
		...(!isAbsent(webhookSecret) && { webhookSecret: withVariables(webhookSecret, `${at}.webhookSecret`, of) }),
	};
}

/** The endpoints of a file for a service that runs. `ignored`: its other sections, which are read at a start. */
export function loadEndpoints(
	text: string,
	source: Source & Pick<Sources, "modules">,
): { ok: true; endpoints: ReadonlyMap<string, Settings>; ignored: string[] } | { ok: false; problems: string[] } {
	const problems: string[] = [];
	const { endpoints: raw, ...others } = parseFile(text, source.path, source, problems);
	const { path } = source;
	const all = readEndpoints(raw, { path, variables: variables(source, problems) }, problems);
	if (problems.length > 0) return { ok: false, problems };
	const endpoints = new Map(all.map(({ endpoint: { id }, given }) => [id, given]));
	return { ok: true, endpoints, ignored: Object.keys(others) };
}
