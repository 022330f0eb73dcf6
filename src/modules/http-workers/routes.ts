/** Presets, and the mapping of an endpoint, for `sluice connect` and the console. */
import { route } from "../../kernel/api/definition/route.ts";
import { COUNT, list, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

const PRESET = object({
	name: TEXT,
	title: { ...TEXT, description: "The servers that it is for." },
	"port?": { ...COUNT, description: "On which they listen unless their options say otherwise." },
	"input?": { type: "object", description: "An example of a job's input." },
});
export type HttpPreset = Static<typeof PRESET>;

const LIST_PRESETS = route("listHttpPresets", "GET /v1/http-presets", "read", {
	summary: "Presets for the setting http of endpoints.",
	answer: {
		description: "The presets, and types of launchers whose workers can be HTTP servers.",
		schema: object({ presets: list(PRESET), launchers: list(TEXT) }),
	},
});

export const GET_HTTP = route("getHttp", "GET /v1/endpoints/:endpoint/http", "read", {
	summary: "How the workers of an endpoint send jobs to their HTTP server.",
	workerTokens: true,
	answer: {
		description: "The setting http, and the mapping that it stands for.",
		schema: object({
			http: { description: "The setting as it was given: the name of a preset, or an object." },
			mapping: {
				type: "object",
				description:
					"The preset with the given members. Where the endpoint's launcher is external it may lack the server's " +
					"port, socket and url.",
			},
		}),
	},
	errors: [ERRORS.no_http],
});

export const HTTP_ROUTES = [LIST_PRESETS, GET_HTTP] as const;
