/** Progress of a pull from the lines that Docker sends. */
import type { WorkerReason } from "../../../core/workers/worker-reason.ts";

export interface PullLine {
	id?: string;
	status?: string;
	/** With `units` the numbers are not bytes. */
	progressDetail?: { current?: number; total?: number; units?: string };
	error?: string;
}

interface Layer {
	total: number | undefined;
	downloaded: number;
	unpacked: number;
	/** `unpacked` includes `downloaded`. */
	has: "nothing" | "downloaded" | "unpacked";
}

/** More layers than any image has. */
const MOST_LAYERS = 512;

const LAYER_STATES = /^(Pulling fs layer|Waiting|Downloading|Verifying|Download c|Extracting|Pull c)/;

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
	const shown = { pulling: 0, unpacking: 0 };

	function read({ id, status = "", progressDetail = {} }: PullLine): void {
		if (id === undefined || !LAYER_STATES.test(status)) return;
		if (!layers.has(id) && layers.size === MOST_LAYERS) return;
		const layer = layers.get(id) ?? {
			total: undefined,
			downloaded: 0,
			unpacked: 0,
			has: "nothing",
		};
		layers.set(id, layer);
		const { units } = progressDetail;
		const [current, total] = [countOf(progressDetail.current), countOf(progressDetail.total)];
		if (total > 0 && units === undefined) layer.total = total;
		if (status === "Downloading") layer.downloaded = current;
		if (status === "Extracting" && units === undefined) layer.unpacked = current;
		if (layer.has === "nothing" && /^(Download complete|Extracting)/.test(status)) layer.has = "downloaded";
		if (status === "Pull complete") layer.has = "unpacked";
	}

	/** Undefined before any size is known. Layers of unknown size count as the mean. */
	function percent(part: (layer: Layer, total: number) => number): number | undefined {
		const all = [...layers.values()];
		const known = all.flatMap(({ total }) => total ?? []);
		if (known.length === 0) return undefined;
		const mean = known.reduce((sum, each) => sum + each, 0) / known.length;
		const sum = (of: (layer: Layer, total: number) => number): number =>
			all.reduce((bytes, layer) => bytes + of(layer, layer.total ?? mean), 0);
		return Math.floor((100 * sum(part)) / sum((_, total) => total));
	}

	return {
		read,
		reason() {
			const all = [...layers.values()];
			const downloaded = percent(({ has, downloaded }, total) =>
				has === "nothing" ? Math.min(downloaded, total) : total,
			);
			const isUnpacking = all.length > 0 && all.every(({ has }) => has !== "nothing");
			const unpacked = percent(({ has, unpacked }, total) => (has === "unpacked" ? total : Math.min(unpacked, total)));
			const phase = isUnpacking ? "unpacking" : "pulling";
			const now = isUnpacking ? unpacked : downloaded;
			// Percentages may fall as sizes become known and downloads repeat, so the maximum is shown.
			if (now !== undefined) shown[phase] = Math.max(shown[phase], now);
			return {
				code: "image_pull",
				message: `${isUnpacking ? "Unpacking" : "Pulling"} image ${image}${where}.`,
				...(now !== undefined && { progress: shown[phase] }),
			};
		},
	};
}
