/** `sluice import runpod`: RunPod's description of an endpoint as `sluice.yaml` (D36). */
import { writeFileSync } from "node:fs";
import { asWritten } from "../../../kernel/config/variables.ts";
import { secretNames } from "../resources/secret-names.ts";
import { withDurationTexts } from "../../../kernel/core/durations.ts";
import { commandIn } from "../endpoints/command.ts";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../../kernel/launchers/endpoint-settings.ts";
import { isAbsent, isObject } from "../../../kernel/lib/schema.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { parseJson } from "../../../cli/client/service-client.ts";
import { textOfFile } from "../../../cli/commands/jobs/setting-flags.ts";
import { endpointId } from "../../../cli/dev/target.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { yamlText } from "../../../cli/framework/yaml-text.ts";

type Members = Readonly<Record<string, unknown>>;

interface Imported {
	id: string;
	settings: Record<string, unknown>;
	notes: string[];
}

export const importCommand: Action = {
	name: "import",
	summary: "print sluice.yaml for endpoints of RunPod, from the JSON of its management API",
	args: ["runpod", "[FILE]"],
	local: true,
	flags: { output: { short: "o", value: "FILE", summary: "write to this file, which must not exist" } },
	examples: ["curl -s https://api.runpod.io/v2/serverless/ID -H 'Authorization: Bearer KEY' | sluice import runpod -"],
	async run({ args: [from, file = "-"], flags: { output } }) {
		if (from !== "runpod") throw new CliError(`Only endpoints of RunPod can be imported: sluice import runpod ${file}`);
		const all = importedFrom(parseJson(textOfFile(file)), file);
		// An id may be that of a member of every object, such as __proto__.
		const endpoints = new Map<string, unknown>();
		for (const { id, settings, notes } of all) {
			const read = readEndpoint(id, settings);
			if (!read.ok)
				throw new CliError(read.faults.map(({ field, message }) => `${id}: ${field} ${message}`).join("\n"), 1);
			endpoints.set(id, withDurationTexts(ENDPOINT_SCHEMA, { ...settings, ...written(settings["env"]) }));
			for (const note of notes) process.stderr.write(`${id}: ${printable(note)}\n`);
		}
		const text = yamlText({ endpoints: Object.fromEntries(endpoints) });
		if (output === undefined) process.stdout.write(text);
		else write(output, text);
		return 0;
	},
};

function write(file: string, text: string): void {
	try {
		writeFileSync(file, text, { flag: "wx", mode: 0o600 });
	} catch (error) {
		throw new CliError(`Cannot write ${file}: ${(error as Error).message}`, 1);
	}
}

function importedFrom(value: unknown, file: string): Imported[] {
	const found = isObject(value) ? (Array.isArray(value["endpoints"]) ? value["endpoints"] : [value]) : [];
	const all = found.filter(isObject).filter((each) => isObject(each["scaling"]));
	if (all.length > 0 && all.length === found.length) return all.map(fromApi);
	throw new CliError(
		`${file} is not an endpoint of RunPod's management API with its scaling. For a repository with a hub.json use: ` +
			"sluice endpoints create ID --from FOLDER",
	);
}

/**
 * Returns the variables. `${NAME}` in RunPod's description is text, which must not become a variable of the operator
 * who applies the file.
 */
function written(env: unknown): { env?: Members } {
	if (!isObject(env)) return {};
	const texts = Object.entries(env).map(([name, value]) => [
		name,
		typeof value === "string" ? asWritten(value) : value,
	]);
	return { env: Object.fromEntries(texts) as Members };
}

const ADVICE: ReadonlyMap<string, string> = new Map([
	["registry", ": add its login to registries in sluice.yaml"],
	["networkVolumes", ": mount a folder with launcher.volumes: [/folder:/runpod-volume]"],
]);

/** Members of RunPod's answer that are no settings. */
const DESCRIBING = ["requestUrls", "createdAt"];

function fromApi(endpoint: Members): Imported {
	const { id, name, type, image, args, cmd, entrypoint, env, gpu, workers, scaling, timeout, ...others } = endpoint;
	if (type === "LOAD_BALANCER")
		throw new CliError(
			"Endpoints behind a load balancer cannot be imported: Sluice has queue-based endpoints only.",
			1,
		);
	const { min, max, idleTimeout } = membersOf(workers);
	const { count = 1, ...placing } = membersOf(gpu);
	const { type: scalerType, queueDelay, requestCount } = membersOf(scaling);
	const unused = [...Object.entries(others), ...Object.entries(placing).map(([key, value]) => [`gpu.${key}`, value])];
	const notes = (unused as [string, unknown][])
		.filter(
			([key, value]) => !DESCRIBING.includes(key) && !["", "OFF", "[]", "{}", "null"].includes(textOfValue(value)),
		)
		.map(([key]) => `'${key}' has no meaning here${ADVICE.get(key) ?? ""}.`);
	const start = startOf({ args, cmd, entrypoint });
	if ("fault" in start) notes.push(`Write 'args' as the list launcher.command: ${textOfValue(args)}`);
	const hasTimeout = typeof timeout === "number" && timeout > 5000;
	if (timeout && !hasTimeout) notes.push("'timeout' must be over 5 s: the default is used.");
	const texts = Object.entries(membersOf(env)).map(([key, value]) => [key, String(value)]);
	for (const secret of secretNames(Object.fromEntries(texts)))
		notes.push(`Its workers start once the secret ${secret} exists: sluice secrets set ${secret}`);
	const settings = {
		name,
		workersMin: min,
		workersMax: max,
		idleTimeout,
		...(hasTimeout && { executionTimeoutMs: timeout }),
		scalerType,
		scalerValue: scalerType === "QUEUE_DELAY" ? queueDelay : requestCount,
		launcher: { type: "docker", image, pullPolicy: "missing", ...("settings" in start && start.settings) },
		...(gpu ? { gpusPerWorker: count } : {}),
		env: membersOf(env),
	};
	const given = Object.entries(settings).filter(([, value]) => !isAbsent(value));
	return { id: typeof id === "string" ? id : endpointId(String(name)), settings: Object.fromEntries(given), notes };
}

/** Members of the launcher. Answers of the API have the lists, older descriptions only the text. */
function startOf({ args, cmd, entrypoint }: Members): { settings: Members } | { fault: string } {
	const isFull = (list: unknown): boolean => Array.isArray(list) && list.length > 0;
	const given =
		isFull(cmd) || isFull(entrypoint) ? { entrypoint, cmd } : commandIn(typeof args === "string" ? args : "");
	if ("fault" in given) return given;
	return {
		settings: {
			...(isFull(given.entrypoint) && { entrypoint: given.entrypoint }),
			...(isFull(given.cmd) && { command: given.cmd }),
		},
	};
}

function textOfValue(value: unknown): string {
	return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function membersOf(value: unknown): Members {
	return isObject(value) ? value : {};
}
