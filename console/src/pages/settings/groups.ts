/** The order of the settings' form; a setting that is not named here comes at the end. */
import type { Typed } from "./settings-form.ts";
import { T } from "../../text/text.ts";

/** Usual ways of scaling; an empty text is the default. */
export const PRESETS: readonly { title: string; means: string; values: Typed }[] = [
	{
		...T.settings.presets.zero,
		values: { workersMin: "", idleTimeout: "", scalerType: "QUEUE_DELAY", scalerValue: "" },
	},
	{
		...T.settings.presets.warm,
		values: { workersMin: "1", idleTimeout: "5 min", scalerType: "QUEUE_DELAY", scalerValue: "" },
	},
	{
		...T.settings.presets.burst,
		values: { workersMin: "", idleTimeout: "1 min", scalerType: "REQUEST_COUNT", scalerValue: "1" },
	},
];

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
			"gpuMemoryGb",
			"gpuMemoryEnforce",
			"priority",
			"initTimeoutMs",
			"stopGraceMs",
			"warmup.input",
			"sleep",
			"release.maxSurge",
			"release.failAfter",
			"release.canary",
		],
	},
	{
		title: T.settings.groups.jobs,
		names: [
			"executionTimeoutMs",
			"leaseMs",
			"retention.run",
			"retention.runsync",
			"retention.records",
			"passRequestId",
		],
	},
	{
		title: T.settings.groups.webhooks,
		names: ["webhooks.schedule", "webhooks.input"],
	},
];
