/** Operations of RunPod's management API that have no counterpart here: 501, with what to use instead (D49). */
import type { RouteDefinition } from "../../../kernel/api/definition/route.ts";
import { PROBLEM } from "../error-form.ts";
import { managed } from "./operation.ts";
import { pagesOf } from "./pages.ts";

/** Key checks and set-up wizards of clients list pods: there are none. */
export const LIST_PODS = managed("listPods", "GET /v2/pods", {
	summary: "An empty list: there are no pods here.",
	answer: {
		description: "No pods.",
		schema: pagesOf("pods", { type: "object" }),
	},
});

/** Path, what to use instead. Also for what is below the path. */
export const UNSUPPORTED = [
	["/v2/pods", "Sluice has no pods. Make an endpoint with POST /v2/serverless; it starts and stops its workers."],
	[
		"/v2/clusters",
		"Sluice has no clusters. GET /v1/gpus lists the GPUs; POST /v2/serverless makes an endpoint for them.",
	],
	["/v2/billing", "Sluice sends no bills. GET /v1/endpoints/{id}/metrics has the GPU seconds of an endpoint."],
	[
		"/v2/account/ssh-keys",
		"Workers take no SSH keys here. GET /v2/serverless/{id}/workers/{worker}/logs has the output of a worker.",
	],
	["/v2/tags", "Endpoints have no tags here. Put them into the name, which PATCH /v2/serverless/{id} changes."],
	["/v2/sandboxes", "Sluice has no sandboxes. Run the code as a job: POST /v2/{id}/run."],
	["/v2/registries/delegations", "Registries cannot be delegated here. Store a login with POST /v2/registries."],
] as const;

function refused(path: string) {
	return {
		name: "unsupported",
		methods: path === "/v2/pods" ? ["POST", "PUT", "PATCH", "DELETE"] : ["GET", "POST", "PUT", "PATCH", "DELETE"],
		path,
		access: "read",
		summary: "Not available here.",
		answer: { description: "None." },
		maxBody: 0,
		errorForm: PROBLEM,
		page: true,
	} as const satisfies RouteDefinition;
}

export const UNSUPPORTED_ROUTES = UNSUPPORTED.flatMap(([path]) => [refused(path), refused(`${path}/*`)]);

export const LIST_BUILDS = managed("listBuilds", "GET /v2/serverless/:endpoint/builds", {
	summary: "An empty list: nothing is built here.",
	answer: {
		description: "No builds.",
		schema: pagesOf("builds", { type: "object" }),
	},
});
