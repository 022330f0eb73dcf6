/** Endpoints as RunPod's management API creates and changes them (D49). */
import type { Endpoint, LauncherSettings } from "../../../kernel/core/endpoints/endpoint.ts";
import { ENDPOINT_DEFAULTS } from "../../../kernel/core/endpoints/endpoint-schema.ts";
import { ApiError, badRequest } from "../../../kernel/core/errors.ts";
import { unprocessable } from "../errors.ts";
import { type ChangeContext, changedBy, createdFrom, type EndpointRequest, requestFault } from "./endpoint-change.ts";
import { contentOf, type EndpointContent } from "./endpoint-content.ts";
import type { ManagementRules } from "../rules.ts";
import { withTemplate } from "../resources/template.ts";
import { isSame } from "../../../kernel/lib/same.ts";
import type { EndpointEntry } from "../../../kernel/engine/endpoints/endpoint-registry.ts";
import type { Endpoints } from "../../../kernel/engine/endpoints/endpoints.ts";
import type { Resources } from "../resources/resources.ts";

/** Fits its schema. */
export type ManagedRequest = EndpointRequest & { templateId?: string | null | undefined };

interface Deps {
	endpoints: Endpoints;
	resources: Resources;
	rules: ManagementRules;
	dataCenters: readonly string[];
	/** Models of the GPUs of all machines for the launcher docker; undefined if some are not known. */
	gpuModels: () => Promise<ChangeContext["gpuModels"]>;
}

export type ManagedEndpoints = ReturnType<typeof managedEndpoints>;

/** Operations throw 400, 404 and 422 with members of the request as fields. */
export function managedEndpoints({ endpoints, resources, ...d }: Deps) {
	/** `before`: what the request may repeat without a check. */
	async function prepared(
		given: ManagedRequest,
		{ type }: LauncherSettings,
		before?: EndpointContent,
	): Promise<{ request: EndpointRequest; context: ChangeContext }> {
		const { templateId, ...rest } = given;
		const request = templateId ? await filled(rest, templateId) : rest;
		const [volume] = request.networkVolumes ?? [];
		const find = volume !== undefined && before?.networkVolumes.includes(volume) ? "find" : "get";
		// Throw `resource_not_found`.
		const volumeSource = volume === undefined ? undefined : (await resources.volumes[find](volume))?.source;
		const { registry, env } = request;
		if (registry && registry !== before?.registry) await resources.logins.requireUsable(registry, type);
		if (env && !isSame(env, before?.env)) await resources.secrets.requireKnown(env);
		const gpuModels = request.gpu && type === "docker" ? await d.gpuModels() : undefined;
		return { request, context: { ...d, volumeSource, gpuModels } };
	}

	/** Its members, where the body leaves them out. */
	async function filled(body: EndpointRequest, id: string): Promise<EndpointRequest> {
		const template = await resources.templates.get(id);
		const given = Object.entries(body).filter(([name, value]) => value !== null || name === "registry");
		if (template.serverless) return withTemplate(template, Object.fromEntries(given));
		throw unprocessable([
			{ field: "templateId", message: `must be a serverless template: ${template.name} has serverless false.` },
		]);
	}

	/** Throws 400 for one that the next start would change back. */
	function requireChangeable(id: string): void {
		if (endpoints.isConfigured(id))
			throw badRequest([{ field: "", message: `is defined in sluice.yaml: change endpoints.${id} there.` }]);
	}

	return {
		async create(given: ManagedRequest, by: string): Promise<EndpointEntry> {
			const { launcher } = d.rules;
			if (!launcher)
				throw badRequest([
					{
						field: "",
						message:
							"cannot be created: set management.launcher in sluice.yaml to docker, kubernetes or slurm. " +
							"POST /v1/endpoints creates endpoints of any launcher.",
					},
				]);
			const { request, context } = await prepared(given, launcher);
			const blank: Endpoint = { ...BLANK, launcher };
			const settings = createdFrom(blank, request, context);
			return await endpoints.create(settings, { source: "api", by, keepsUsed: true }).catch(renamed);
		},

		async update(id: string, given: ManagedRequest, by: string): Promise<EndpointEntry> {
			const before = endpoints.get(id);
			requireChangeable(id);
			const { request, context } = await prepared(given, before.launcher, contentOf(before));
			return await endpoints
				.change(id, (endpoint) => changedBy(endpoint, request, context), { source: "api", by, keepsUsed: true })
				.catch(renamed);
		},

		/** Its jobs are cancelled, its workers stopped. */
		async remove(id: string): Promise<void> {
			endpoints.get(id);
			requireChangeable(id);
			await endpoints.remove(id);
		},
	};
}

/** Values of the idle timeout and the numbers of workers are those of RunPod's document. */
const BLANK = { ...ENDPOINT_DEFAULTS, id: "", name: "", idleTimeout: 10 } as unknown as Endpoint;

function renamed(error: unknown): never {
	if (error instanceof ApiError && error.code === "bad_request" && error.details)
		throw badRequest(error.details.map(requestFault));
	throw error;
}
