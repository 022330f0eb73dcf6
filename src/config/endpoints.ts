/** Endpoints of `sluice.yaml` (D35). */
import { dirname } from "node:path";
import type { Endpoint } from "../core/endpoints/endpoint.ts";
import { reservedFaults } from "../core/management/reserved-ids.ts";
import { isAbsent, isObject } from "../lib/schema.ts";
import { readEndpoint } from "../launchers/endpoint-settings.ts";
import { resolvePaths } from "../launchers/index.ts";
import { parseFile, type Sources } from "./sources.ts";

type Settings = Record<string, unknown>;
type Source = Pick<Sources, "env"> & { path: string };

interface FileEndpoint {
	endpoint: Endpoint;
	/** What the file says, with values of variables and absolute paths. */
	given: Settings;
}

/** A value that is the variable of this name. */
const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** `secretVariables`: those that the settings name. */
export function readEndpoints(
	raw: unknown,
	source: Source,
	problems: string[],
): { all: FileEndpoint[]; secretVariables: string[] } {
	const all: FileEndpoint[] = [];
	const secretVariables: string[] = [];
	for (const [id, settings] of isObject(raw) ? Object.entries(raw) : []) {
		const at = `${source.path}: endpoints.${id}`;
		const valueOf = (field: string, value: unknown): unknown => {
			const name = typeof value === "string" ? VARIABLE.exec(value)?.[1] : undefined;
			if (name === undefined) return value;
			secretVariables.push(name);
			if (!source.env[name]) problems.push(`${at}.${field}: the variable ${name} is not set.`);
			return source.env[name] ?? "";
		};
		for (const { message } of reservedFaults(id, id)) problems.push(`${at} ${message}`);
		const given = isObject(settings) ? withVariables(settings, valueOf) : (settings ?? {});
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
	return { all, secretVariables };
}

function withVariables(settings: Settings, valueOf: (field: string, value: unknown) => unknown): Settings {
	const { env, webhookSecret } = settings;
	return {
		...settings,
		...(isObject(env) && {
			env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, valueOf(`env.${name}`, value)])),
		}),
		...(!isAbsent(webhookSecret) && { webhookSecret: valueOf("webhookSecret", webhookSecret) }),
	};
}

/** The endpoints of a file for a service that runs. `ignored`: its other sections, which are read at a start. */
export function loadEndpoints(
	text: string,
	source: Source,
): { ok: true; endpoints: ReadonlyMap<string, Settings>; ignored: string[] } | { ok: false; problems: string[] } {
	const problems: string[] = [];
	const { endpoints: raw, ...others } = parseFile(text, source.path, problems);
	const { all } = readEndpoints(raw, source, problems);
	if (problems.length > 0) return { ok: false, problems };
	const endpoints = new Map(all.map(({ endpoint: { id }, given }) => [id, given]));
	return { ok: true, endpoints, ignored: Object.keys(others) };
}
