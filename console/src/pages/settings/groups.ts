/** The order of the settings' form; a setting that is not named here comes at the end. */
import { T } from "../../text.ts";

export const GROUPS: readonly { title: string; names: readonly string[] }[] = [
	{ title: T.settings.groups.about, names: ["name"] },
	{
		title: T.settings.groups.scaling,
		names: [
			"workersMin",
			"workersMax",
			"scalerType",
			"scalerValue",
			"idleTimeout",
			"gpusPerWorker",
			"initTimeoutMs",
			"stopGraceMs",
		],
	},
	{
		title: T.settings.groups.jobs,
		names: ["executionTimeoutMs", "leaseMs", "retention.run", "retention.runsync", "retention.records"],
	},
	{
		title: T.settings.groups.webhooks,
		names: ["webhooks.schedule", "webhooks.disableAfterMs"],
	},
];
