/**
 * Takes the picture out of a job's input, for both examples: base64 or data URL in, checked bytes
 * out.
 */
import sharp from "sharp";

/** A mistake in the job's input. Its message is a sentence for whoever sent the job. */
export class InputError extends Error {}

/** The formats read, by sharp's names. */
export const READABLE_FORMATS = ["jpeg", "png", "webp", "gif", "tiff", "heif"];

/** A picture with more pixels than this is refused: unpacked, it would take over 200 MB. */
export const MAX_PIXELS = 50_000_000;

/**
 * The bytes of `image` and what sharp says about them.
 * @param {unknown} image base64 text, or a data URL ("data:image/png;base64,...")
 * @returns {Promise<{ bytes: Buffer, metadata: import("sharp").Metadata }>}
 * @throws {InputError} when there is no picture, or none that can be read
 */
export async function inputPicture(image) {
	const bytes = pictureBytes(image);
	const metadata = await sharp(bytes, { limitInputPixels: false })
		.metadata()
		.catch(() => undefined);
	if (metadata === undefined || !READABLE_FORMATS.includes(metadata.format)) {
		throw new InputError(
			`\`image\` is not a picture that can be read. Readable formats: ${READABLE_FORMATS.join(", ")}.`,
		);
	}
	const pixels = metadata.width * metadata.height;
	if (pixels > MAX_PIXELS) {
		throw new InputError(
			`\`image\` has ${metadata.width} x ${metadata.height} pixels; the most is ${MAX_PIXELS} in all. Send a smaller one.`,
		);
	}
	return { bytes, metadata };
}

function pictureBytes(image) {
	if (image === undefined || image === null || image === "") {
		throw new InputError("`image` is missing. Send the picture as base64 text or as a data URL.");
	}
	if (typeof image !== "string") throw new InputError("`image` must be a string: base64 text or a data URL.");
	if (/^https?:/i.test(image))
		throw new InputError(
			"`image` is a link, and links are not followed. Send the picture itself, as base64 or data URL.",
		);
	const base64 = image.startsWith("data:") ? image.slice(image.indexOf(",") + 1) : image;
	if (image.startsWith("data:") && !/^data:[^,]*;base64,/i.test(image))
		throw new InputError("`image` is a data URL without `;base64,`. Encode the picture as base64.");
	if (/[^A-Za-z0-9+/=\s]/.test(base64)) throw new InputError("`image` is not base64 text.");
	return Buffer.from(base64, "base64");
}
