import type { Preset } from "./preset.ts";

/**
 * Models of Replicate's Cog, from 0.17 on. The id is the job's: a second attempt on the same server attaches to the
 * prediction of the first. A failed prediction is a 200, and 409 is a server whose slots are all busy.
 */
export const COG: Preset = {
	title: "Cog: models of Replicate; the input is that of the model",
	settings: {
		port: 5000,
		ready: { path: "/health-check", where: { at: "/status", in: ["READY", "BUSY"] } },
		request: {
			method: "PUT",
			path: "/predictions/{job.uuid}-{job.run}",
			body: { input: "{input}" },
		},
		answer: { as: "json", at: "/output" },
		failed: [{ at: "/status", in: ["failed", "canceled"], message: "/error" }],
		cancel: { path: "/predictions/{job.uuid}-{job.run}/cancel" },
		errors: { busy: [408, 409, 425, 429, 503] },
	},
};
