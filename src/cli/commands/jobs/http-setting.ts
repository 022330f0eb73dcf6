/** The setting `http` of an endpoint as the command line takes it: the name of a preset, or a file with a mapping. */
import { EXAMPLE_INPUTS, PRESETS, resolveMapping } from "../../../../packages/worker/src/http/mapping-index.ts";
import { didYouMean } from "../../../kernel/lib/nearest.ts";
import { CliError } from "../../client/errors.ts";
import { settingsIn, textOfFile } from "./setting-flags.ts";

/** A mapping as a user writes it: members over those of its `preset`. */
export type HttpSetting = Readonly<Record<string, unknown>>;

/** The mapping as the adapter of the worker kit takes it. */
export type Mapping = Extract<ReturnType<typeof resolveMapping>, { ok: true }>["mapping"];

/** Throws {@link CliError}. */
export function httpSetting(text: string): HttpSetting {
	if (isPreset(text)) return { preset: text };
	if (isFileName(text)) return settingsIn(textOfFile(text), `The file ${text}`);
	throw new CliError(`${noPreset(text)} The name of a file with a mapping has a dot or a slash, such as ./mapping.`);
}

/** A preset as a new endpoint needs it. */
export interface NamedPreset {
	name: string;
	title: string;
	/** Port on which its server listens unless its options say otherwise. */
	port: number | undefined;
	input: Readonly<Record<string, unknown>>;
}

/** Throws {@link CliError}. */
export function presetNamed(name: string): NamedPreset {
	const preset = isPreset(name) ? PRESETS[name] : undefined;
	if (!preset) throw new CliError(noPreset(name));
	const { port } = preset.settings;
	return {
		name,
		title: preset.title,
		port: typeof port === "number" ? port : undefined,
		input: EXAMPLE_INPUTS[name] ?? { prompt: "hello" },
	};
}

function noPreset(text: string): string {
	const names = Object.keys(PRESETS);
	return `There is no preset '${text}'.${didYouMean(text, names)} Presets: ${names.join(", ")}.`;
}

export function isPreset(text: string): boolean {
	return Object.hasOwn(PRESETS, text);
}

/** Whether a text names a file: neither presets nor ids of endpoints have a dot or a slash. */
export function isFileName(text: string): boolean {
	return /[./\\]/.test(text);
}

/** The mapping with its preset, as JSON and as the adapter takes it. Throws {@link CliError} with all faults. */
export function resolved(setting: HttpSetting): { value: Record<string, unknown>; mapping: Mapping } {
	const read = resolveMapping(setting);
	if (read.ok) return read;
	throw new CliError(read.faults.map(({ path, message }) => `${path} ${message}`).join("\n"));
}
