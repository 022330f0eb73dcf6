/**
 * The launcher of endpoints whose workers somebody else starts (D25): it launches nothing and
 * watches nothing.
 */
import type { Launcher } from "../launcher.ts";

/** Starting throws and says where to look; everything else is empty and harmless. */
export function externalLauncher(): Launcher {
	return {
		name: "external",
		async start({ endpoint }) {
			throw new Error(
				`workers of this endpoint are started by somebody else: see \`sluice worker-env ${endpoint}\``,
			);
		},
		adopt: async () => false,
		stop: async () => {},
		list: async () => [],
		onExit() {},
		close: async () => {},
	};
}
