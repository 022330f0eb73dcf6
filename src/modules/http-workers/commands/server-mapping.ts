/** Mappings of servers that run already, at a URL that the command line gives. */
import type { HttpSetting } from "../../../cli/commands/jobs/http-setting.ts";

/** The setting for a server at `url`, in place of the port or socket that it names. */
export function atUrl(
	setting: HttpSetting,
	{ url, concurrency }: { url: string; concurrency?: number | undefined },
): HttpSetting {
	// Null removes those of the preset, too.
	return { ...setting, port: null, socket: null, url, ...(concurrency !== undefined && { concurrency }) };
}

/** Name of the preset of a setting. */
export function presetOf({ preset = "raw" }: HttpSetting): string {
	return String(preset);
}
