import { listText, type Schema } from "../lib/schema.ts";
import type { LauncherDefinition } from "./definition.ts";

/** One branch per launcher, discriminated by `type`. */
export function launcherSchema(launchers: readonly LauncherDefinition[]): Schema {
	const types = listText(launchers.map(({ type }) => type));
	const message = `must be ${types}.`;
	return {
		oneOf: launchers.map(({ type, title, description, managed, settings }) => ({
			type: "object",
			title,
			additionalProperties: false,
			required: ["type", ...(settings.required ?? [])],
			properties: {
				type: { const: type, description, "x-message": message },
				...settings.properties,
			},
			"x-managed": managed,
		})),
		description: "How the endpoint gets its workers.",
		examples: [{ type: "process", command: ["node", "worker.js"] }],
		"x-message": "must be an object such as { type: process, command: [node, worker.js] }.",
	};
}
