/** How far a pull is, from the lines that Docker sends meanwhile. Pure. */
import type { WorkerReason } from "../../../core/workers/worker-reason.ts";

/** Only the members used here. */
export interface PullLine {
	/** Id of a layer. */
	id?: string;
	status?: string;
	/** `units`: the numbers are no bytes. */
	progressDetail?: { current?: number; total?: number; units?: string };
	error?: string;
}

/** In bytes as they are sent; `total` is known from the first of them on. */
interface Layer {
	total: number | undefined;
	downloaded: number;
	unpacked: number;
	/** `unpacked` means `downloaded` too. */
	has: "nothing" | "downloaded" | "unpacked";
}

/** More than any image has. */
const MOST_LAYERS = 512;

/** States of a layer that is new to the daemon, in this order. */
const LAYER_STATES = /^(Pulling fs layer|Waiting|Downloading|Verifying|Download c|Extracting|Pull c)/;

export interface PullProgress {
	read(line: PullLine): void;
	reason(): WorkerReason;
}

/** Whatever a daemon sends, a number that can be shown. */
function countOf(value: number | undefined): number {
	return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}

/** `where`: of several hosts, such as ` on rig1`. */
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

	/** Percent; undefined before any size is known. Layers of unknown size count as the mean. */
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
			// Sizes become known and downloads are repeated while the pull goes on.
			if (now !== undefined) shown[phase] = Math.max(shown[phase], now);
			return {
				code: "image_pull",
				message: `${isUnpacking ? "Unpacking" : "Pulling"} image ${image}${where}.`,
				...(now !== undefined && { progress: shown[phase] }),
			};
		},
	};
}
