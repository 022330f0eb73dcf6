/** Objects of the management API that are no endpoints. */
import type { ResourceKey, ResourceKind } from "../../core/management/resources.ts";

/** What is not secret. */
export interface ResourceHead extends ResourceKey {
	/** Two registries, or two secrets, never have the same. */
	name: string;
	/** JSON of the members that are not secret. */
	body: string;
	createdAt: number;
	/** Grows with each change. */
	updatedAt: number;
}

export interface ResourceRow extends ResourceHead {
	/** Encrypted: env of a template, user and password of a registry, value of a secret. */
	sealed?: string | undefined;
}

/** At most `limit`, the newest first; `after`: those that follow this one. */
export interface ResourcePage {
	kind: ResourceKind;
	after?: { createdAt: number; id: string } | undefined;
	limit: number;
}

export interface ResourceStore {
	/** Newest first. */
	list(q: { kind: ResourceKind }): Promise<ResourceHead[]>;
	/** Newest first. */
	named(q: { kind: ResourceKind; name: string }): Promise<ResourceRow[]>;
	page(q: ResourcePage): Promise<ResourceRow[]>;
	/** Characters of such a page. */
	size(q: ResourcePage): Promise<number>;
	find(q: ResourceKey): Promise<ResourceRow | undefined>;
	/** `taken`: another has the name; `full`: `atMost` exist. */
	insert(q: { row: ResourceRow; atMost: number }): Promise<"inserted" | "taken" | "full">;
	/** Keeps kind, id and `createdAt`. False, without a change, if its `updatedAt` is no longer `from`. */
	update(q: { row: ResourceRow; from: number }): Promise<boolean>;
	/** Unless endpoints use it: then their ids, without a change. */
	remove(q: ResourceKey): Promise<"removed" | "missing" | { users: string[] }>;
}
