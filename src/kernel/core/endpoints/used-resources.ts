/**
 * Objects of RunPod's management API that are no endpoints, and which of them an endpoint uses. The store asks it when
 * one is deleted.
 */
import { ApiError } from "../errors.ts";

const KINDS = {
	template: { noun: "template", list: "GET /v2/templates" },
	registry: { noun: "registry", list: "GET /v2/registries" },
	volume: { noun: "network volume", list: "GET /v2/network-volumes" },
	secret: { noun: "secret", list: "GET /v2/account/secrets" },
} as const;

export type ResourceKind = keyof typeof KINDS;

export interface ResourceKey {
	kind: ResourceKind;
	id: string;
}

export const nounOf = (kind: ResourceKind): string => KINDS[kind].noun;

export function resourceNotFound({ kind, id }: ResourceKey): ApiError {
	const { noun, list } = KINDS[kind];
	return new ApiError("resource_not_found", { kind: noun, id: id.slice(0, 80), list });
}

/** Settings of an endpoint, also as they are stored. */
interface Using {
	launcher?: object | undefined;
	management?: { networkVolumes?: readonly string[] | undefined } | undefined;
}

/** The registry login and the network volumes that an endpoint names. */
export function usedResources({ launcher, management }: Using): ResourceKey[] {
	const { registry } = (launcher ?? {}) as { registry?: unknown };
	return [
		...(typeof registry === "string" ? [{ kind: "registry", id: registry } as const] : []),
		...(management?.networkVolumes ?? []).map((id) => ({ kind: "volume", id }) as const),
	];
}

export function uses(settings: Using, { kind, id }: ResourceKey): boolean {
	return usedResources(settings).some((each) => each.kind === kind && each.id === id);
}
