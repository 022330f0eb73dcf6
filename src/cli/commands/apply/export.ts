/** `sluice export`: endpoints of a service in the form of `sluice.yaml` (D36). */
import type { Endpoint } from "../../../kernel/api/endpoints.ts";
import { isOwnSecret } from "../../../kernel/config/options.ts";
import { withDurationTexts } from "../../../kernel/core/durations.ts";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../../kernel/launchers/endpoint-settings.ts";
import { resolvePaths } from "../../../kernel/launchers/index.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import { path } from "../../client/service-client.ts";
import type { Action } from "../../framework/command.ts";
import { yamlText } from "../../framework/yaml-text.ts";

export const exportCommand: Action = {
	name: "export",
	args: ["[ENDPOINT...]"],
	summary: "print endpoints of the service as sluice.yaml, for 'sluice apply'",
	flags: {},
	examples: ["sluice export > sluice.yaml", "sluice export thumbnail --context production"],
	async run({ args, service }) {
		const all: Endpoint[] = [];
		for (const id of args) all.push((await service.request("GET", path`/v1/endpoints/${id!}`)).json as Endpoint);
		if (args.length === 0)
			all.push(...((await service.request("GET", "/v1/endpoints")).json as { endpoints: Endpoint[] }).endpoints);
		process.stdout.write(exportText(all));
		return 0;
	},
};

export function exportText(all: readonly Endpoint[]): string {
	const endpoints = Object.fromEntries(all.map((each) => [each.id, exported(each)]));
	return HEAD + all.map(folderNote).join("") + yamlText({ endpoints });
}

const HEAD = `# Settings that are not named here have their defaults.
# The service shows no secrets: set the variables in \${...} for the commands that read this file. Secrets of
# webhooks are left out, and 'sluice apply' keeps them.
`;

function exported(endpoint: Endpoint): unknown {
	const { id, env } = endpoint;
	const read = readEndpoint(id, {});
	const settings = Object.entries(endpoint).flatMap(([name, value]): [string, unknown][] => {
		// Values of env are not shown.
		if (name === "env" || !Object.hasOwn(ENDPOINT_SCHEMA.properties, name)) return [];
		const standard = read.ok ? (read.endpoint as unknown as Record<string, unknown>)[name] : undefined;
		// Without it, RUNPOD_INIT_TIMEOUT would set it.
		const own = name === "initTimeoutMs" && env.includes("RUNPOD_INIT_TIMEOUT") ? value : without(standard, value);
		return own === undefined ? [] : [[name, own]];
	});
	const variables = env.map((name): [string, string] => [name, `\${${variableFor(name)}}`]);
	return {
		...(withDurationTexts(ENDPOINT_SCHEMA, Object.fromEntries(settings)) as object),
		...(variables.length > 0 && { env: Object.fromEntries(variables) }),
	};
}

/** Returns the members that differ from the default; undefined if none does. */
function without(standard: unknown, value: unknown): unknown {
	if (!isObject(standard) || !isObject(value))
		return JSON.stringify(standard) === JSON.stringify(value) ? undefined : value;
	const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
		const own = without(standard[name], member);
		return own === undefined ? [] : [[name, own]];
	});
	return members.length === 0 ? undefined : Object.fromEntries(members);
}

/**
 * Returns the variable for a value. A worker's own `SLUICE_API_KEY` gets another name, since it is not the key of the
 * operator who applies the file.
 */
function variableFor(name: string): string {
	const variable = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)/, "_");
	return isOwnSecret(variable) ? `WORKER_${variable}` : variable;
}

/**
 * Returns a comment for a folder that is not set: it is the service's folder there, and would be the file's folder
 * here.
 */
function folderNote({ id, launcher }: Endpoint): string {
	const resolved = resolvePaths(launcher, "/") as unknown as Record<string, unknown>;
	if (!("cwd" in resolved) || "cwd" in launcher) return "";
	return `# ${id}: its workers start in the folder of the service; with this file, in the folder of the file.\n`;
}
