/** Workers that start elsewhere and attach themselves (D25): `start` throws, the rest does nothing. */
import type { LauncherDefinition } from "../definition.ts";
import type { Launcher } from "../launcher.ts";

export const EXTERNAL: LauncherDefinition = {
	type: "external",
	title: "Started elsewhere",
	description: "Workers are started elsewhere, with the variables of 'sluice worker-env'.",
	managed: false,
	settings: {},
	create: async () => externalLauncher(),
};

export function externalLauncher(): Launcher {
	return {
		name: "external",
		async start({ endpoint }) {
			throw new Error(`workers of this endpoint are started elsewhere: see \`sluice worker-env ${endpoint}\``);
		},
		adopt: async () => false,
		stop: async () => {},
		list: async () => [],
		removeStrays: async () => 0,
		onExit() {},
		close: async () => {},
	};
}
