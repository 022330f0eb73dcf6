/** Objects of the management API that are no endpoints. */

export type ResourceKind = "template" | "registry" | "volume" | "secret";

export interface ResourceRow {
	kind: ResourceKind;
	id: string;
	/** Two registries, or two secrets, never have the same. */
	name: string;
	/** JSON of the members that are not secret. */
	body: string;
	/** Encrypted: env of a template, user and password of a registry, value of a secret. */
	sealed?: string | undefined;
	createdAt: number;
	/** Grows with each change. */
	updatedAt: number;
}

export interface ResourceStore {
	/** Newest first. `name`: those with this name only. */
	list(q: { kind: ResourceKind; name?: string | undefined }): Promise<ResourceRow[]>;
	find(q: { kind: ResourceKind; id: string }): Promise<ResourceRow | undefined>;
	/** `taken`: another has the name; `full`: `atMost` exist. */
	insert(q: { row: ResourceRow; atMost: number }): Promise<"inserted" | "taken" | "full">;
	/** Keeps kind, id and `createdAt`. False, without a change, if its `updatedAt` is no longer `from`. */
	update(q: { row: ResourceRow; from: number }): Promise<boolean>;
	remove(q: { kind: ResourceKind; id: string }): Promise<boolean>;
}
