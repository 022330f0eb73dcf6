/** The `launcher` settings for workers as processes. */
import type { LauncherDefinition } from "../definition.ts";

export interface ProcessSettings {
	type: "process";
	/** The program is found on PATH. */
	command: string[];
	/** Default: the service's. */
	cwd?: string;
}

export const SETTINGS: LauncherDefinition["settings"] = {
	required: ["command"],
	properties: {
		command: {
			type: "array",
			minItems: 1,
			items: { type: "string", "x-message": "must be text; put quotes around a number." },
			title: "Command",
			description: "Program and arguments, without a shell.",
			examples: [["node", "worker.js"]],
			"x-message": "must be a list of the command and its arguments, such as [node, worker.js].",
		},
		cwd: {
			type: "string",
			minLength: 1,
			title: "Folder",
			description:
				"Working directory. In sluice.yaml relative to that file and by default its folder; " +
				"elsewhere an absolute path and by default that of the service.",
			"x-message": "must be the path of a directory.",
		},
	},
};
