/** Settings of a new endpoint from a repository, an image, a command, or an HTTP server of a known kind (D36). */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { mergeSettings } from "../../../kernel/core/endpoints/endpoint.ts";
import { readEndpoint } from "../../../kernel/launchers/endpoint-settings.ts";
import { runsImages } from "../../../kernel/launchers/index.ts";
import { isAbsent, isObject } from "../../../kernel/lib/schema.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { CliError } from "../../client/errors.ts";
import { path } from "../../client/service-client.ts";
import { dockerfileOf, findEntry } from "../../repository/entry.ts";
import { hubNotes, type HubSettings, printNotes, readHub, type RequiredInput } from "../../repository/hub.ts";
import { commandFor } from "../../repository/script-command.ts";
import type { ActionInput, Flags } from "../../framework/command.ts";
import { ask } from "../../framework/common-flags.ts";
import { buildImage, imageNameOf } from "./image-build.ts";
import { httpSetting } from "./http-setting.ts";
import { readSettings } from "./setting-flags.ts";

export const SOURCE_FLAGS = {
	from: {
		value: "FOLDER",
		summary: "take name, env, GPUs and what to start from a RunPod repository; other flags override them",
	},
	image: { value: "IMAGE", summary: "run this image with Docker; it is pulled if it is not on the machine" },
	build: { summary: "build the image of the repository's Dockerfile with docker build, and run it" },
	preset: { value: "NAME", summary: "take the variables of this preset of the repository's hub.json" },
	http: {
		value: "PRESET|FILE",
		summary: "each worker is an HTTP server, of a known kind or with the mapping in a file; see: sluice connect --help",
	},
} as const satisfies Flags;

type Settings = Record<string, unknown>;

/** The settings of `--file` and `--set`, over those of the source. Throws {@link CliError}. */
export async function withSource(input: ActionInput): Promise<Settings> {
	const { flags, rest: command } = input;
	const { http, image, build } = flags;
	if (command.length > 0 && (image ?? build) !== undefined)
		throw new CliError(`Pass --${image === undefined ? "build" : "image"} or a command after --, not both.`);
	const given = readSettings(input, {
		...(http !== undefined && { http: httpSetting(http) }),
		...(command.length > 0 && { launcher: { type: "process", command } }),
	});
	const settings = await overSource(given, input);
	// Null in a mapping removes what its preset has, and a merge of settings would drop it.
	return given["http"] === undefined ? settings : { ...settings, http: given["http"] };
}

async function overSource(given: Settings, input: ActionInput): Promise<Settings> {
	const { from, image, build, preset } = input.flags;
	const [id = ""] = input.args;
	if (from === undefined && (build ?? preset) !== undefined)
		throw new CliError(`--${build === undefined ? "preset" : "build"} takes the repository of --from FOLDER.`);
	if (image !== undefined && build !== undefined) throw new CliError("Pass --image or --build, not both.");
	if (from === undefined) return image === undefined ? given : merged({ launcher: containerOf(image, given) }, given);
	const folder = resolve(from);
	if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
		throw new CliError(`--from takes the folder of a repository; ${folder} is not a folder.`);
	const hub = readHub(folder, preset);
	const dockerfile = build === undefined ? undefined : dockerfileOf(folder);
	if (build !== undefined && dockerfile === undefined)
		throw new CliError(`--build needs a Dockerfile in ${folder} or in its folder .runpod; there is none.`);
	const wanted = dockerfile === undefined ? image : imageNameOf(id);
	const { launcher, notes } = launcherFor(folder, { given, image: wanted });
	// It is not in a registry.
	if (dockerfile !== undefined) delete launcher!["pullPolicy"];
	printNotes([
		...(hub ? hubNotes(hub) : ["No .runpod/hub.json found, which would name variables and GPUs."]),
		...notes,
	]);
	const isContainer = launcher?.type === "docker" || typeOf(given) === "docker";
	if (hub) printNotes(machineNotes(hub, { isContainer, given }));
	const env = { ...hub?.env, ...(await requiredValues(hub?.required ?? [], membersOf(given["env"]))) };
	const { name, gpus: gpusPerWorker } = hub ?? {};
	const settings = merged({ name, ...(launcher && { launcher }), env, gpusPerWorker }, given);
	if (dockerfile !== undefined) {
		await refuseUnusable(id, { settings, service: input.service });
		await buildImage({ folder, dockerfile, image: wanted! });
	}
	return settings;
}

/** No launcher if the given settings say what to start. */
function launcherFor(
	folder: string,
	{ given, image }: { given: Settings; image: string | undefined },
): { launcher?: { type: string } & Settings; notes: string[] } {
	const { type = "process", command } = membersOf(given["launcher"]);
	if (image !== undefined)
		return { launcher: containerOf(image, given), notes: [`Workers are containers of ${image}.`] };
	if (type !== "process") return { notes: [] };
	if (command !== undefined) return { launcher: { type, cwd: folder }, notes: [] };
	const entry = findEntry(folder);
	const own = commandFor(entry);
	const notes = [`Workers run ${own.join(" ")} on the machine of the service.`];
	return { launcher: { type, command: own, cwd: entry.cwd ?? folder }, notes };
}

/** In the launcher of the given settings, else in Docker. */
function containerOf(image: string, given: Settings): { type: string } & Settings {
	const { type = "docker" } = membersOf(given["launcher"]) as { type?: string };
	if (!runsImages(type)) throw new CliError(`Workers of the launcher ${type} run no image; omit --image and --build.`);
	return { type, image, ...(type === "docker" && { pullPolicy: "missing" }) };
}

function machineNotes({ gpus }: HubSettings, q: { isContainer: boolean; given: Settings }): string[] {
	if (gpus === 0) return [];
	const all = q.isContainer ? "--set gpusPerWorker=0 --set launcher.gpus=all" : "--set gpusPerWorker=0";
	const notes = [
		`Each worker gets ${gpus === 1 ? "one GPU" : `${gpus} GPUs`} of those configured with gpus in sluice.yaml; ` +
			`${all} gives it access to all.`,
	];
	if (q.isContainer && membersOf(q.given["launcher"])["volumes"] === undefined)
		notes.push(
			"Each container downloads its models again unless a volume keeps them: " +
				`--set 'launcher.volumes=["models:/runpod-volume"]'`,
		);
	return notes;
}

/** Asks for what `given` does not have. Throws {@link CliError} where no terminal can be asked. */
async function requiredValues(required: readonly RequiredInput[], given: Settings): Promise<Record<string, string>> {
	const missing = required.filter(({ key }) => !Object.hasOwn(given, key) || isAbsent(given[key]));
	const values = new Map<string, string>();
	for (const { key, title } of missing) {
		const value = await ask(`${printable(title)}: `);
		if (value === undefined || value === "") {
			const names = missing.map((each) => each.key);
			throw new CliError(
				`hub.json requires ${names.join(", ")} and has no default. ` +
					`Set ${names.length === 1 ? "it" : "them"}: ${names.map((name) => `--set env.${name}=VALUE`).join(" ")}`,
			);
		}
		values.set(key, value);
	}
	return Object.fromEntries(values);
}

/** A build takes minutes: faults that the service would find are found before. */
async function refuseUnusable(id: string, q: { settings: Settings; service: ActionInput["service"] }): Promise<void> {
	const read = readEndpoint(id, q.settings);
	if (!read.ok) throw new CliError(read.faults.map(({ field, message }) => `${field} ${message}`).join("\n"));
	const answer = await q.service.request("GET", path`/v1/endpoints/${id}`).catch((error: unknown) => {
		if (error instanceof CliError && error.status === 404) return undefined;
		throw error;
	});
	if (answer) throw new CliError(`There is an endpoint '${id}' already. Choose another id, or delete it first.`, 1);
}

function merged(settings: Settings, given: Settings): Settings {
	return mergeSettings(settings, given) as Settings;
}

function membersOf(value: unknown): Settings {
	return isObject(value) ? value : {};
}

function typeOf(given: Settings): unknown {
	return membersOf(given["launcher"])["type"];
}
