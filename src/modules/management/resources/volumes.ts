/**
 * Network volumes: a name for what a launcher mounts. The launchers docker and slurm make a volume at its first use;
 * folders and claims that exist are named by `management.volumes`. Data is never deleted.
 */
import { badRequest } from "../../../kernel/core/errors.ts";
import { newVolumeName, sourceOf, type ManagementRules } from "../rules.ts";
import { listText } from "../../../kernel/lib/schema.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import { type Resource, type ResourceContext, resourceTable } from "./resource-table.ts";

interface Body {
	/** GB, a note: no launcher enforces it. */
	size: number;
	dataCenter: string;
	type: "STANDARD" | "HIGH_PERFORMANCE";
	/** Absent: a new volume. */
	source?: string;
}

export interface Volume extends Body {
	id: string;
	name: string;
	/** Folder, volume or claim, as `launcher.volumes` names it. */
	source: string;
	createdAt: EpochMs;
}

export type Volumes = ReturnType<typeof volumes>;

interface Deps extends ResourceContext {
	rules: ManagementRules;
	dataCenters: readonly string[];
}

export function volumes(d: Deps) {
	const table = resourceTable<Body>("volume", d);

	return {
		list: async () => (await table.list()).map(viewOf),
		get: async (id: string) => viewOf(await table.get(id)),
		find: async (id: string) => {
			const found = await table.find(id);
			return found && viewOf(found);
		},

		/** Throws 400 for an unknown data centre, and for a volume that the configuration does not allow. */
		async create({ name, ...given }: Omit<Volume, "id" | "createdAt" | "source">): Promise<Volume> {
			if (!d.dataCenters.includes(given.dataCenter))
				throw badRequest([{ field: "dataCenter", message: `must be ${listText(d.dataCenters)}.` }]);
			const found = sourceOf(name, d.rules);
			if (!found.ok) throw badRequest([{ field: "name", message: found.message }]);
			const { source } = found;
			return viewOf(await table.create({ name, body: { ...given, ...(source !== undefined && { source }) } }));
		},

		/** Throws 400 for a smaller size. */
		async update(id: string, q: { name?: string | undefined; size?: number | undefined }): Promise<Volume> {
			const changed = await table.update(id, ({ name, body }) => {
				const { size = body.size } = q;
				if (size < body.size)
					throw badRequest([{ field: "size", message: `must be at least ${body.size}, the current size.` }]);
				return { name: q.name ?? name, body: { ...body, size } };
			});
			return viewOf(changed);
		},

		/** The data stays. */
		remove: table.remove,
	};
}

function viewOf({ id, name, createdAt, body }: Resource<Body>): Volume {
	return { id, name, createdAt, source: newVolumeName(id), ...body };
}
