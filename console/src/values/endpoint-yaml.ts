/** An endpoint's settings as they stand in `sluice.yaml`: those that differ from their defaults. */
import type { Setting } from "./setting-kinds.ts";
import type { Endpoint } from "../client/shapes.ts";

/** The settings, without `env`, secrets and defaults: what another endpoint needs to be the same. */
export function settingsToCopy(
	endpoint: Endpoint,
	settings: Readonly<Record<string, Setting>>,
): Record<string, unknown> {
	const present = endpoint as unknown as Readonly<Record<string, unknown>>;
	return Object.fromEntries(
		Object.entries(settings).flatMap(([name, setting]) => {
			if (setting.writeOnly || name === "env" || present[name] === undefined) return [];
			if (name === "name" && present["name"] === endpoint.id) return [];
			const value = withoutDefaults(present[name], setting);
			return value === undefined ? [] : [[name, value]];
		}),
	);
}

function withoutDefaults(value: unknown, { default: usual, properties }: Setting): unknown {
	if (JSON.stringify(value) === JSON.stringify(usual)) return undefined;
	if (!properties || typeof value !== "object" || value === null) return value;
	const members = Object.entries(value).flatMap(([name, member]) => {
		const kept = withoutDefaults(member, properties[name] ?? {});
		return kept === undefined ? [] : [[name, kept] as const];
	});
	return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** A file for `--config`, with the names of variables that are to be filled in. */
export function endpointYaml(endpoint: Endpoint, settings: Readonly<Record<string, Setting>>): string {
	const lines = ["endpoints:", `  ${scalar(endpoint.id)}:`];
	for (const [name, value] of Object.entries(settingsToCopy(endpoint, settings)))
		lines.push(...member(name, value, "    "));
	if (endpoint.env.length > 0)
		lines.push(
			"    env:  # values are not shown: fill them in",
			...endpoint.env.map((name) => `      ${scalar(name)}: ""`),
		);
	if (lines.length === 2) lines[1] += " {}";
	return `${lines.join("\n")}\n`;
}

function member(name: string, value: unknown, indent: string): string[] {
	if (typeof value !== "object" || value === null || Array.isArray(value) || isEmpty(value))
		return [`${indent}${scalar(name)}: ${flow(value)}`];
	return [
		`${indent}${scalar(name)}:`,
		...Object.entries(value).flatMap(([each, inner]) => member(each, inner, `${indent}  `)),
	];
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

function flow(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
	return typeof value === "string" ? scalar(value) : JSON.stringify(value);
}

/** Plain where YAML reads it as the same text, else in quotes. */
function scalar(text: string): string {
	const plain = /^[A-Za-z_/][\w./+@-]*$/.test(text);
	return plain && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(text) ? text : JSON.stringify(text);
}
