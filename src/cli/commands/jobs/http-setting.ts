/** The setting `http` of an endpoint as the command line takes it: the name of a preset, or a file with a mapping. */
import { PRESETS, resolveMapping } from "../../../../packages/worker/src/http/mapping-index.ts";
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
	const names = Object.keys(PRESETS);
	throw new CliError(
		`There is no preset '${text}'.${didYouMean(text, names)} Presets: ${names.join(", ")}. ` +
			"The name of a file with a mapping has a dot or a slash, such as ./mapping.",
	);
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
