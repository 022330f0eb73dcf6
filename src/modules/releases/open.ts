/** Opens releases: versions are proven, compared and undone from the start on (D50). */
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { createCanaries } from "./canaries.ts";
import { releaseHandlers } from "./handlers.ts";
import { rollbacks } from "./rollbacks.ts";

export async function openReleases(kernel: Kernel): Promise<OpenModule> {
	const canaries = createCanaries(kernel);
	const { refresh, beside, settingsFor, stoppable } = canaries;
	// Shares apply before the first request: taking over workers, which happens later, may take seconds.
	refresh();
	const releases = { refresh, beside, settingsFor, stoppable, ...rollbacks({ ...kernel, canaries }) };
	return {
		handlers: releaseHandlers(kernel),
		hooks: { releases },
		families: async () => (await import("./families.ts")).familiesOf(kernel.metrics),
	};
}
