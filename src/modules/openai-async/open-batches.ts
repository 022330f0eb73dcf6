/** What this server knows of the open batches of all servers (D57), from as few reads of whole rows as possible. */
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow, OpenBatch } from "../../kernel/store/contract/batches.ts";
import { isOver, type Progress, progressOf } from "./progress.ts";

/** Batches read at once. */
const READ = 1000;

/** Whole rows read at once. One may have hundreds of KB. */
const PAGE = 100;

/** What decides whether a batch is started, and whether its endpoint wants a worker for it. */
export interface Standing {
	/** All of its requests have ended. */
	isOver: boolean;
	/** It waits for nothing but workers. */
	canGoOn: boolean;
	expiresAt: number;
}

const standingOf = (progress: Readonly<Progress>): Standing => ({
	isOver: isOver(progress),
	canGoOn: progress.waits === undefined && !isOver(progress),
	expiresAt: progress.expiresAt,
});

export type OpenBatches = ReturnType<typeof openBatches>;

/** `own`: the progress of a batch that this server runs, which the row cannot be ahead of. */
export function openBatches(
	{ store }: Pick<Kernel, "store">,
	{ own }: { own: (id: string) => Readonly<Progress> | undefined },
) {
	let heads: readonly OpenBatch[] = [];
	/** `version` of the row that was read, after `order` others. */
	const known = new Map<string, Standing & { version: number; order: number }>();
	let order = 0;

	async function rowsOf(some: readonly OpenBatch[]): Promise<Map<string, BatchRow>> {
		const found = await Promise.all(some.map((head) => store.batches.find(head)));
		const rows = found.filter((row) => row !== undefined).filter(({ isOpen }) => isOpen);
		for (const row of rows)
			known.set(row.id, { ...standingOf(progressOf(row)), version: row.version, order: (order += 1) });
		return new Map(rows.map((row) => [row.id, row]));
	}

	const isKnown = ({ id, version }: OpenBatch): boolean => own(id) !== undefined || known.get(id)?.version === version;

	function standing(id: string): Standing | undefined {
		const progress = own(id);
		return progress ? standingOf(progress) : known.get(id);
	}

	return {
		get heads(): readonly OpenBatch[] {
			return heads;
		},
		/** Reads which ones there are. */
		async read(): Promise<void> {
			heads = await store.batches.open({ limit: READ });
			const ids = new Set(heads.map(({ id }) => id));
			for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
		},
		/** Reads some rows that have changed, those first that were not read for longest. */
		async readSome(): Promise<void> {
			const orderOf = ({ id }: OpenBatch): number => known.get(id)?.order ?? 0;
			const changed = heads.filter((head) => !isKnown(head));
			await rowsOf(changed.toSorted((a, b) => orderOf(a) - orderOf(b)).slice(0, PAGE));
		},
		/**
		 * Calls `visit` with each one, oldest first. `row` is its row if that had to be read because it has changed, or
		 * because `wants` returned true for it.
		 */
		async each(
			wants: (head: OpenBatch, standing: Standing) => boolean,
			visit: (head: OpenBatch, standing: Standing, row: BatchRow | undefined) => void,
		): Promise<void> {
			for (let at = 0; at < heads.length; at += PAGE) {
				const page = heads.slice(at, at + PAGE);
				const rows = await rowsOf(page.filter((head) => !isKnown(head) || wants(head, standing(head.id)!)));
				for (const head of page) {
					const found = standing(head.id);
					if (found) visit(head, found, rows.get(head.id));
				}
			}
		},
		/** Endpoints with a batch that can go on. */
		active: (): ReadonlySet<string> =>
			new Set(heads.filter(({ id }) => standing(id)?.canGoOn).map(({ endpoint }) => endpoint)),
		/** Number by endpoint. */
		counts(): ReadonlyMap<string, number> {
			const counts = new Map<string, number>();
			for (const { endpoint } of heads) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
			return counts;
		},
	};
}
