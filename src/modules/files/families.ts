/** Files that are stored, for `/metrics` (D40, D56). */
import type { Family, FamilyDescription } from "../../kernel/core/metrics/family.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { FileTotal } from "../../kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";

const described = (name: string, help: string): FamilyDescription => ({
	name,
	type: "gauge",
	labels: ["endpoint"],
	help: `${help}, on all servers, with those that have expired and are not removed yet.`,
});

const FILES = described("sluice_files", "Uploaded files");
const BYTES = described("sluice_files_bytes", "Bytes of uploaded files");

export const FAMILIES = [FILES, BYTES];

/** Missing while the store is unavailable. */
export async function fileFamilies({ store }: Pick<Kernel, "store">): Promise<Family[]> {
	const totals = await store.files.totals().catch((error: unknown) => {
		if (error instanceof StoreUnavailable) return undefined;
		throw error;
	});
	if (!totals) return [];
	const family = (description: FamilyDescription, valueOf: (total: FileTotal) => number): Family => ({
		...description,
		samples: totals.map((total) => [[total.endpoint], valueOf(total)]),
	});
	return [family(FILES, ({ files }) => files), family(BYTES, ({ bytes }) => bytes)];
}
