/**
 * Small pictures of what jobs returned. Lists have no outputs, so each is one call: few at once,
 * none for large outputs, and none at all for an endpoint whose jobs return no pictures.
 */
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { askResponse, Failure } from "../../client/api.ts";
import { fewAtOnce } from "../../client/few-at-once.ts";
import { recall, remember } from "../../client/memory.ts";
import { mediaIn } from "../media.ts";

const [AT_ONCE, SIDE] = [2, 56];
/** Bytes of an output that is read. */
const MOST_BYTES = 600_000;
/** Outputs without a picture, one after the other, after which an endpoint is asked no more. */
const MOST_MISSES = 4;
const KEPT = 300;

const made = new Map<string, string | undefined>();
const misses = new Map<string, number>();
const enqueue = fewAtOnce(AT_ONCE);

/** Whether jobs of an endpoint return pictures; undefined until one was read in this browser. */
const returning = new Map<string, boolean | undefined>();
const listeners = new Set<() => void>();

function returnsPictures(endpoint: string): boolean | undefined {
	if (!returning.has(endpoint)) {
		const known = recall(`pictures.${endpoint}`);
		returning.set(endpoint, typeof known === "boolean" ? known : undefined);
	}
	return returning.get(endpoint);
}

function learn(endpoint: string, returns: boolean): void {
	if (returnsPictures(endpoint) === returns) return;
	returning.set(endpoint, returns);
	remember(`pictures.${endpoint}`, returns);
	for (const notify of listeners) notify();
}

function subscribe(notify: () => void): () => void {
	listeners.add(notify);
	return () => listeners.delete(notify);
}

/**
 * A data URL for the element of `ref` once that is to be seen, and whether there is room for one: before it has come,
 * and in each row of an endpoint whose jobs return pictures, so that no row moves when its picture comes.
 */
export function useThumbnail(endpoint: string, job: string | undefined) {
	const ref = useRef<HTMLSpanElement>(null);
	const [read, setRead] = useState(job === undefined || made.has(job));
	const url = job === undefined ? undefined : made.get(job);
	const returns = useSyncExternalStore(subscribe, () => returnsPictures(endpoint));
	useEffect(() => {
		if (job === undefined || made.has(job) || !ref.current) return undefined;
		const stop = new AbortController();
		const seen = new IntersectionObserver(([entry]) => {
			if (!entry?.isIntersecting) return;
			seen.disconnect();
			void enqueue(async () => {
				if (stop.signal.aborted || (misses.get(endpoint) ?? 0) >= MOST_MISSES) return;
				const found = await pictureOf(endpoint, job, stop.signal);
				if (stop.signal.aborted) return;
				const missed = found === undefined ? (misses.get(endpoint) ?? 0) + 1 : 0;
				misses.set(endpoint, missed);
				if (made.size >= KEPT) made.delete(made.keys().next().value!);
				made.set(job, found);
				setRead(true);
				if (missed === 0 || missed >= MOST_MISSES || returnsPictures(endpoint) === undefined)
					learn(endpoint, missed === 0);
			});
		});
		seen.observe(ref.current);
		return () => {
			seen.disconnect();
			stop.abort();
		};
	}, [endpoint, job]);
	return { ref, url, read, room: returns ?? !read };
}

async function pictureOf(endpoint: string, job: string, signal: AbortSignal): Promise<string | undefined> {
	try {
		const path = `v2/${encodeURIComponent(endpoint)}/status/${encodeURIComponent(job)}`;
		const text = await beginningOf(await askResponse(path, { signal }));
		const [first] =
			text === undefined
				? []
				: mediaIn((JSON.parse(text) as { output?: unknown }).output).filter(({ media }) => media.kind === "image");
		return first === undefined ? undefined : await small(first.media.url);
	} catch (error) {
		// A transfer that breaks off is a TypeError.
		if ([Failure, DOMException, TypeError].some((kind) => error instanceof kind)) return undefined;
		throw error;
	}
}

/** The body, unless it is too long. */
async function beginningOf(answer: Response): Promise<string | undefined> {
	const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text;
		text += value;
		if (text.length > MOST_BYTES) {
			await reader.cancel();
			return undefined;
		}
	}
}

/** The picture in a size that is kept without a cost. */
async function small(url: string): Promise<string> {
	const picture = new Image();
	picture.src = url;
	await picture.decode();
	const { naturalWidth: width, naturalHeight: height } = picture;
	const canvas = document.createElement("canvas");
	canvas.width = canvas.height = SIDE;
	const side = Math.min(width, height);
	canvas.getContext("2d")!.drawImage(picture, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIDE, SIDE);
	return canvas.toDataURL("image/webp", 0.8);
}
