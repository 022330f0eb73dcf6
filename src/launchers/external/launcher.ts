/**
 * The launcher of endpoints whose workers start elsewhere (D25): `start` throws, the rest does
 * nothing.
 */
import type { Launcher } from "../launcher.ts";

export function externalLauncher(): Launcher {
	return {
		name: "external",
		async start({ endpoint }) {
			throw new Error(
				`workers of this endpoint are started elsewhere: see \`sluice worker-env ${endpoint}\``,
			);
		},
		adopt: async () => false,
		stop: async () => {},
		list: async () => [],
		removeStrays: async () => 0,
		onExit() {},
		close: async () => {},
	};
}
