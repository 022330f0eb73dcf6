/** Progress of a pull from the lines that Docker sends. */
import type { WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import { IS_COMPLETE } from "./pull-texts.ts";

export interface PullLine {
	id?: string;
	status?: string;
	/** With `units` the numbers are not bytes. */
	progressDetail?: { current?: number; total?: number; units?: string };
	error?: string;
}

interface Layer {
	/** Bytes. Undefined until its download begins. */
	total: number | undefined;
	downloaded: number;
	isComplete: boolean;
}

/** Maximum layers that are followed; no image has as many. */
const MOST_LAYERS = 512;

export interface PullProgress {
	read(line: PullLine): void;
	reason(): WorkerReason;
}

/** A daemon may send any number. */
function countOf(value: number | undefined): number {
	return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}

export function pullProgress(image: string, where = ""): PullProgress {
	const layers = new Map<string, Layer>();
	let shown = 0;

	function read({ id, status = "", progressDetail = {} }: PullLine): void {
		const isComplete = IS_COMPLETE.get(status);
		if (id === undefined || isComplete === undefined) return;
		if (!layers.has(id) && layers.size === MOST_LAYERS) return;
		const layer = layers.get(id) ?? { total: undefined, downloaded: 0, isComplete: false };
		layers.set(id, layer);
		const total = countOf(progressDetail.total);
		if (total > 0 && progressDetail.units === undefined) layer.total = total;
		if (status === "Downloading") layer.downloaded = countOf(progressDetail.current);
		layer.isComplete ||= isComplete;
	}

	/** Returns the progress in percent; undefined before any size is known. Layers of unknown size count as the mean. */
	function percent(all: readonly Layer[]): number | undefined {
		const known = all.flatMap(({ total }) => total ?? []);
		if (known.length === 0) return undefined;
		const mean = known.reduce((sum, each) => sum + each, 0) / known.length;
		let [done, whole] = [0, 0];
		for (const { total = mean, downloaded, isComplete } of all) {
			done += isComplete ? total : Math.min(downloaded, total);
			whole += total;
		}
		return Math.floor((100 * done) / whole);
	}

	return {
		read,
		reason() {
			const all = [...layers.values()];
			if (all.length > 0 && all.every(({ isComplete }) => isComplete))
				return { code: "image_pull", message: `Unpacking image ${image}${where}.` };
			const now = percent(all);
			// Percentages may fall as sizes become known and downloads repeat, so the maximum is shown.
			if (now !== undefined) shown = Math.max(shown, now);
			return {
				code: "image_pull",
				message: `Pulling image ${image}${where}.`,
				...(now !== undefined && { progress: shown }),
			};
		},
	};
}
