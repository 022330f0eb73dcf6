/**
 * The work of the thumbnail endpoint: one picture in, one re-encoded picture out for each size
 * asked for.
 */
import sharp from "sharp";
import { InputError, inputPicture, MAX_PIXELS } from "../input-picture.js";

const FORMATS = ["webp", "jpeg", "png", "avif"];
const FITS = ["inside", "cover", "contain", "fill"];
const MAX_EDGE = 2048;
const MAX_SIZES = 16;

/**
 * Yields each thumbnail as soon as it is done, in the order of `sizes`.
 *
 * Input: `image` (base64 or data URL), `sizes` (default [64, 128, 256]; a number is the square box
 * that the thumbnail fits in, or `{ width, height }` with at least one of them), `format` (default
 * "webp"), `quality` (1 to 100, default 80; not for png), `fit` (default "inside": keeps the
 * proportions and never enlarges).
 *
 * @param {Record<string, unknown>} input
 * @param {AbortSignal} [signal] looked at before each size
 * @returns {AsyncGenerator<{ width: number, height: number, format: string, bytes: number, image:
 * string, ms: number }>}
 * @throws {InputError} when the input is wrong; the signal's reason when it aborts
 */
export async function* resize(input, signal) {
	const { sizes, format, quality, fit } = settings(input);
	const { bytes } = await inputPicture(input.image);
	for (const size of sizes) {
		signal?.throwIfAborted();
		const started = performance.now();
		const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS })
			.autoOrient()
			.resize({ ...size, fit, withoutEnlargement: fit === "inside" })
			.toFormat(format, format === "png" ? { compressionLevel: 9 } : { quality })
			.toBuffer({ resolveWithObject: true })
			.catch((error) => {
				throw new InputError(`The picture cannot be decoded: ${error.message}`, { cause: error });
			});
		yield {
			width: info.width,
			height: info.height,
			format,
			bytes: data.length,
			image: `data:image/${format};base64,${data.toString("base64")}`,
			ms: Math.round(performance.now() - started),
		};
	}
}

function settings({ sizes = [64, 128, 256], format = "webp", quality = 80, fit = "inside" }) {
	if (!Array.isArray(sizes) || sizes.length === 0 || sizes.length > MAX_SIZES) {
		throw new InputError(
			`\`sizes\` must be a list of 1 to ${MAX_SIZES} sizes, for example [64, 128, { "width": 320, "height": 200 }].`,
		);
	}
	if (!FORMATS.includes(format))
		throw new InputError(`\`format\` ${JSON.stringify(format)} is unknown. Use one of: ${FORMATS.join(", ")}.`);
	if (!FITS.includes(fit))
		throw new InputError(`\`fit\` ${JSON.stringify(fit)} is unknown. Use one of: ${FITS.join(", ")}.`);
	if (!isWhole(quality, 100)) throw new InputError("`quality` must be a whole number from 1 to 100.");
	return { sizes: sizes.map(box), format, quality, fit };
}

function box(size, index) {
	const { width, height } = typeof size === "number" ? { width: size, height: size } : (size ?? {});
	const given = [width, height].filter((edge) => edge !== undefined);
	if (given.length === 0 || !given.every((edge) => isWhole(edge, MAX_EDGE))) {
		throw new InputError(
			`\`sizes[${index}]\` is ${JSON.stringify(size)}; width and height must be whole numbers from 1 to ${MAX_EDGE} pixels.`,
		);
	}
	return { width, height };
}

function isWhole(value, most) {
	return Number.isInteger(value) && value >= 1 && value <= most;
}
