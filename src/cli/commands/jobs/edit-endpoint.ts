/** `sluice endpoints edit`: settings in the editor, as YAML (D36). */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Endpoint } from "../../../api/endpoints.ts";
import { withoutSecrets } from "../../../config/options.ts";
import { withDurations, withDurationTexts } from "../../../core/durations.ts";
import { ENDPOINT_SCHEMA } from "../../../launchers/endpoint-settings.ts";
import { settingsIn } from "./setting-flags.ts";
import { isObject } from "../../../lib/schema.ts";
import { CliError } from "../../client/errors.ts";
import { path } from "../../client/service-client.ts";
import type { Action } from "../../framework/command.ts";
import { confirm, YES_FLAG } from "../../framework/common-flags.ts";
import { styled } from "../../framework/style.ts";
import { yamlText } from "../../framework/yaml-text.ts";

type Settings = Readonly<Record<string, unknown>>;

export const edit: Action = {
	name: "edit",
	args: ["ID"],
	summary: "change settings in your editor; shows the changes and asks before it makes them",
	flags: YES_FLAG,
	examples: ["sluice endpoints edit hello", "EDITOR='code --wait' sluice endpoints edit hello"],
	env: { EDITOR: "the editor, perhaps with arguments; VISUAL is used first (default vi)" },
	async run(input) {
		const [id = ""] = input.args;
		const target = path`/v1/endpoints/${id}`;
		const endpoint = (await input.service.request("GET", target)).json as Endpoint;
		const before = settingsOf(endpoint);
		const after = withDurations(ENDPOINT_SCHEMA, edited(before, endpoint)) as Settings;
		const patch = patchOf(before, after);
		if (Object.keys(patch).length === 0) {
			process.stdout.write("Nothing was changed.\n");
			return 0;
		}
		process.stderr.write(changesText(before, after, Object.keys(patch)));
		await confirm(`Update endpoint '${id}'?`, input);
		await input.service.request("PATCH", target, patch);
		process.stdout.write(`Updated endpoint '${id}'.\n`);
		return 0;
	},
};

/** What can be edited: values of env and secrets are not shown. */
export function settingsOf(endpoint: Endpoint): Settings {
	const names = Object.keys(ENDPOINT_SCHEMA.properties).filter((name) => name !== "env" && name !== "webhookSecret");
	return Object.fromEntries(Object.entries(endpoint).filter(([name]) => names.includes(name)));
}

/** Throws {@link CliError} if the editor fails or its text is no settings. */
function edited(before: Settings, { id, env }: Endpoint): Settings {
	const variables = env.length === 0 ? "none" : env.join(", ");
	const folder = mkdtempSync(join(tmpdir(), "sluice-edit-"));
	const file = join(folder, `${id}.yaml`);
	try {
		const head = `# Settings of the endpoint ${id}. A line that is removed restores its default.
# Variables in env: ${variables}. Their values are not shown: add lines, such as env: { NAME: value }.
`;
		writeFileSync(file, head + yamlOf(before), { mode: 0o600 });
		const { VISUAL, EDITOR } = process.env;
		const [program = "vi", ...args] = (VISUAL || EDITOR || "vi").trim().split(/\s+/);
		const { status, error } = spawnSync(program, [...args, file], {
			stdio: "inherit",
			env: withoutSecrets(process.env),
		});
		if (error || status !== 0)
			throw new CliError(
				`The editor '${program}' ${error ? "could not be started" : `exited with code ${status}`}. Set EDITOR.`,
				1,
			);
		return settingsIn(readFileSync(file, "utf8"), "The text");
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** A JSON merge patch: absent members become null. */
function patchOf(before: Settings, after: Settings): Record<string, unknown> {
	const patch: Record<string, unknown> = {};
	for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
		const [old, now] = [before[name], after[name]];
		if (isDeepStrictEqual(old, now)) continue;
		patch[name] = now === undefined ? null : isObject(old) && isObject(now) ? patchOf(old, now) : now;
	}
	return patch;
}

function changesText(before: Settings, after: Settings, names: readonly string[]): string {
	const lines = (settings: Settings): string[] => {
		const shown = names.filter((name) => settings[name] !== undefined && settings[name] !== null);
		return yamlOf(Object.fromEntries(shown.map((name) => [name, settings[name]]))).split("\n");
	};
	const [old, now] = [lines(before), lines(after)];
	const removed = old.filter((line) => !now.includes(line)).map((line) => styled("red", `- ${line}`, process.stderr));
	const added = now.filter((line) => !old.includes(line)).map((line) => styled("green", `+ ${line}`, process.stderr));
	return [...removed, ...added, ""].join("\n");
}

function yamlOf(settings: Settings): string {
	return yamlText(withDurationTexts(ENDPOINT_SCHEMA, settings));
}
