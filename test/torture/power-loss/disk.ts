/**
 * What a disk may hold after a power loss: all that was flushed, and of the rest any part, in any
 * order, whole or torn at sectors.
 */
import { dirname } from "node:path";
import type { Step } from "./trace.ts";

type Change = Extract<Step, { kind: "write" | "truncate" }>;

interface File {
	durable: Buffer;
	/** Not flushed. */
	pending: Change[];
}

/** Contents by path. */
export type Contents = Map<string, Buffer>;

/** Sizes at which a write may be torn, bytes. */
const SECTORS = [512, 4096] as const;

export class Disk {
	/** As programs see it, and as it was at the last flush of the folder. */
	private live = new Map<string, File>();
	private durable = new Map<string, File>();

	apply(step: Exclude<Step, { kind: "say" }>): void {
		switch (step.kind) {
			case "create":
				if (!this.live.has(step.file)) this.live.set(step.file, { durable: Buffer.alloc(0), pending: [] });
				return;
			case "remove":
				return void this.live.delete(step.file);
			case "rename": {
				const file = this.live.get(step.file)!;
				this.live.delete(step.file);
				return void this.live.set(step.to, file);
			}
			case "flush": {
				const file = this.live.get(step.file);
				if (!file) return this.flushEntries(step.file);
				file.durable = file.pending.reduce(changed, file.durable);
				file.pending = [];
				return;
			}
			default:
				this.live.get(step.file)?.pending.push(step);
		}
	}

	/** The names in a folder are durable. */
	private flushEntries(folder: string): void {
		for (const path of this.durable.keys()) if (dirname(path) === folder) this.durable.delete(path);
		for (const [path, file] of this.live) if (dirname(path) === folder) this.durable.set(path, file);
	}

	/** How many changes are not flushed. */
	get pending(): number {
		return [...new Set([...this.live.values(), ...this.durable.values()])].reduce(
			(sum, { pending }) => sum + pending.length,
			0,
		);
	}

	/** The disk after a power loss now; `choose` says what of each unflushed change is there. */
	lose(choose: (index: number, change: Change) => Change | undefined, entries: boolean): Contents {
		const images = new Map<File, Buffer>();
		let index = 0;
		for (const file of new Set([...this.live.values(), ...this.durable.values()])) {
			let image = file.durable;
			for (const change of file.pending) {
				const kept = choose(index, change);
				index += 1;
				if (kept) image = changed(image, kept);
			}
			images.set(file, image);
		}
		// Without a flush of the folder, names are old or new.
		const names = entries ? this.live : this.durable;
		return new Map([...names].map(([path, file]) => [path, images.get(file)!]));
	}
}

function changed(image: Buffer, change: Change): Buffer {
	if (change.kind === "truncate") {
		const after = Buffer.alloc(change.size);
		image.copy(after);
		return after;
	}
	const after = Buffer.alloc(Math.max(image.length, change.at + change.data.length));
	image.copy(after);
	change.data.copy(after, change.at);
	return after;
}

/** A part of a write: up to a sector, or from it on. */
export function torn(change: Change, random: () => number): Change {
	if (change.kind === "truncate") return change;
	const sector = SECTORS[Math.floor(random() * SECTORS.length)]!;
	const first = Math.ceil((change.at + 1) / sector) * sector;
	const places = Math.floor((change.at + change.data.length - first) / sector) + 1;
	if (places < 1) return change;
	const cut = first + Math.floor(random() * places) * sector - change.at;
	if (cut <= 0 || cut >= change.data.length) return change;
	return random() < 0.5
		? { ...change, data: change.data.subarray(0, cut) }
		: { ...change, at: change.at + cut, data: change.data.subarray(cut) };
}

/** Different choices for so many unflushed changes: the plain ones first, then random ones. */
export function* choices(
	count: number,
	random: () => number,
): Generator<(index: number, change: Change) => Change | undefined> {
	yield () => undefined;
	yield (_, change) => change;
	if (count === 0) return;
	for (let n = 0; n < count; n += 1) {
		yield (index, change) => (index < n ? change : undefined);
		yield (index, change) => (index === n ? undefined : change);
		yield (index, change) => (index < n ? change : index === n ? torn(change, random) : undefined);
		yield (_, change) => {
			const chance = random();
			return chance < 0.4 ? change : chance < 0.7 ? torn(change, random) : undefined;
		};
	}
}
