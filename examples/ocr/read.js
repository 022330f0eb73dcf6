/**
 * The work of the OCR endpoint: a picture of English text in, the text with confidences out.
 * Everything is local: the engine is tesseract.js, its language data comes from the package
 * @tesseract.js-data/eng.
 */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import sharp from "sharp";
import { createWorker, OEM } from "tesseract.js";
import { InputError, inputPicture } from "../input-picture.js";

const LANGUAGE_DATA = dirname(
	createRequire(import.meta.url).resolve("@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz"),
);
const PROGRESS_EVERY_MS = 200;
/**
 * The engine reads best with letters of about 30 pixels, as in a page of 1600; it gains nothing
 * from more than 4000.
 */
const GOOD_WIDTH = 1600;
const MAX_EDGE = 4000;

/**
 * A reader that keeps one engine warm from picture to picture. It starts with the first picture,
 * and pictures are read one by one. `read` and `close` are described below.
 */
export function createReader() {
	let engine;
	let report = () => {};
	let last = Promise.resolve();

	/**
	 * Reads the text of `input.image` (base64 or data URL).
	 *
	 * Result: `text`, `confidence` (0 to 100, of the whole picture), `lines` (each `{ text,
	 * confidence }`), `words` (how many), `ms`. While it reads, `onProgress` gets `{ step, percent }`
	 * at each new step and at most every 200 ms.
	 *
	 * @param {Record<string, unknown>} input
	 * @param {{ signal?: AbortSignal, onProgress?: (progress: { step: string, percent: number }) =>
	 * unknown }} [options]
	 * @throws {InputError} when the input is wrong; the signal's reason when it aborts
	 */
	async function read(input, { signal, onProgress = () => {} } = {}) {
		const started = performance.now();
		const picture = await prepare(input.image);
		const before = last;
		const { promise, resolve: leave } = Promise.withResolvers();
		last = promise;
		await before;
		try {
			signal?.throwIfAborted();
			report = throttled(onProgress);
			const page = await orAborted(recognize(picture), signal).catch(async (error) => {
				await close();
				throw error;
			});
			const lines = (page.blocks ?? []).flatMap((block) => block.paragraphs).flatMap((paragraph) => paragraph.lines);
			return {
				text: page.text.trim(),
				confidence: page.confidence,
				lines: lines.map((line) => ({
					text: line.text.trim(),
					confidence: Math.round(line.confidence * 10) / 10,
				})),
				words: lines.reduce((sum, line) => sum + line.words.length, 0),
				ms: Math.round(performance.now() - started),
			};
		} finally {
			report = () => {};
			leave();
		}
	}

	async function recognize(picture) {
		engine ??= startEngine((message) => report(message));
		const mine = engine;
		const worker = await mine;
		if (engine !== mine) throw new Error("The engine was ended while it started.");
		return (await worker.recognize(picture, {}, { text: true, blocks: true })).data;
	}

	/** Ends the engine at once, whatever it does. The next picture starts a new one. */
	async function close() {
		const ending = engine;
		engine = undefined;
		await ending?.then(
			(worker) => worker.terminate(),
			() => {},
		);
	}

	return { read, close };
}

/**
 * Resolves when the language data is loaded. An error of the engine rejects, where tesseract.js by
 * itself would end the process.
 */
function startEngine(logger) {
	return new Promise((resolve, reject) => {
		const errorHandler = (error) => reject(new Error(String(error)));
		createWorker("eng", OEM.LSTM_ONLY, {
			langPath: LANGUAGE_DATA,
			gzip: true,
			cacheMethod: "none",
			logger,
			errorHandler,
		}).then(resolve, reject);
	});
}

/** Upright, grey, on white, with full contrast, and of a size that suits the engine. */
async function prepare(image) {
	const { bytes, metadata } = await inputPicture(image);
	const factor = Math.min(2, Math.max(1, GOOD_WIDTH / metadata.autoOrient.width));
	const width = Math.min(MAX_EDGE, Math.round(metadata.autoOrient.width * factor));
	return await sharp(bytes)
		.autoOrient()
		.flatten({ background: "white" })
		.greyscale()
		.resize({ width, height: MAX_EDGE, fit: "inside" })
		.normalise()
		.withMetadata({ density: 300 })
		.png({ compressionLevel: 1 })
		.toBuffer()
		.catch((error) => {
			throw new InputError(`The picture cannot be decoded: ${error.message}`, { cause: error });
		});
}

/** The work's result, or the signal's reason as soon as it aborts. */
async function orAborted(work, signal) {
	if (signal === undefined) return await work;
	const { promise: aborted, reject } = Promise.withResolvers();
	const onAbort = () => reject(signal.reason);
	signal.addEventListener("abort", onAbort, { once: true });
	try {
		return await Promise.race([work, aborted]);
	} finally {
		signal.removeEventListener("abort", onAbort);
	}
}

/** Turns the engine's messages into `{ step, percent }`, few enough to be sent over a network. */
function throttled(onProgress) {
	let sent = { step: "", percent: 0, at: 0 };
	return ({ status, progress }) => {
		const step = status === "recognizing text" ? "reading" : "starting the engine";
		const percent = status === "recognizing text" ? Math.round(progress * 100) : 0;
		const at = performance.now();
		if (step === sent.step && (percent <= sent.percent || at - sent.at < PROGRESS_EVERY_MS)) return;
		sent = { step, percent, at };
		onProgress({ step, percent });
	};
}
