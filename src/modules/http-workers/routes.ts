/** The mapping of an endpoint, for `sluice connect` and the console. */
import { route } from "../../kernel/api/definition/route.ts";
import { object } from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

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

export const HTTP_ROUTES = [GET_HTTP] as const;
