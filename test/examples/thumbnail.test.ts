/**
 * The work of the thumbnail example, on the shipped pictures; what comes out is decoded again to
 * see what it is.
 */
import { beforeAll, describe, expect, it } from "vitest";
import sharp from "sharp";
import { base64, loadResize, picture, type Resize, type Thumbnail } from "./pictures.ts";

let resize: Resize;
let landscape: string;

beforeAll(async () => {
	resize = await loadResize();
	landscape = await base64("landscape.jpg");
});

async function all(input: Record<string, unknown>): Promise<Thumbnail[]> {
	const thumbnails: Thumbnail[] = [];
	for await (const thumbnail of resize(input)) thumbnails.push(thumbnail);
	return thumbnails;
}
const decoded = (thumbnail: Thumbnail) =>
	Buffer.from(thumbnail.image.slice(thumbnail.image.indexOf(",") + 1), "base64");

describe("thumbnail example: the pictures that come out", () => {
	it("has the three default sizes as webp, in order, inside their boxes", async () => {
		const thumbnails = await all({ image: landscape });
		expect(thumbnails.map(({ width, height, format }) => [width, height, format])).toEqual([
			[64, 43, "webp"],
			[128, 85, "webp"],
			[256, 171, "webp"],
		]);
	});

	it.each(["webp", "jpeg", "png", "avif"])("encodes %s that decodes to the size it says", async (format) => {
		const [thumbnail] = await all({
			image: `data:image/jpeg;base64,${landscape}`,
			sizes: [{ width: 90, height: 90 }],
			format,
		});
		const bytes = decoded(thumbnail!);
		const metadata = await sharp(bytes).metadata();
		expect([metadata.format, metadata.width, metadata.height]).toEqual([format === "avif" ? "heif" : format, 90, 60]);
		expect(thumbnail!.bytes).toBe(bytes.length);
		expect(thumbnail!.image.startsWith(`data:image/${format};base64,`)).toBe(true);
	});

	it("shows the same scene: the mean colour stays", async () => {
		const [thumbnail] = await all({ image: landscape, sizes: [200], format: "png" });
		const before = (await sharp(await picture("landscape.jpg")).stats()).channels;
		const after = (await sharp(decoded(thumbnail!)).stats()).channels;
		after.forEach((channel, index) => expect(Math.abs(channel.mean - before[index]!.mean)).toBeLessThan(2));
	});

	it("crops with cover, pads with contain, keeps the proportions when only one edge is given", async () => {
		const sizes = [{ width: 100, height: 100 }];
		expect(await all({ image: landscape, sizes, fit: "cover" })).toMatchObject([{ width: 100, height: 100 }]);
		expect(await all({ image: landscape, sizes, fit: "contain" })).toMatchObject([{ width: 100, height: 100 }]);
		expect(await all({ image: landscape, sizes: [{ height: 100 }] })).toMatchObject([{ width: 150, height: 100 }]);
	});

	it("never enlarges inside a box", async () => {
		expect(await all({ image: landscape, sizes: [2048] })).toMatchObject([{ width: 1200, height: 800 }]);
	});

	it("makes smaller files at lower quality", async () => {
		const [good] = await all({ image: landscape, sizes: [256], quality: 90 });
		const [poor] = await all({ image: landscape, sizes: [256], quality: 20 });
		expect(poor!.bytes).toBeLessThan(good!.bytes / 2);
	});
});

describe("thumbnail example: wrong input", () => {
	const size = { image: "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=" };
	it.each([
		[{}, "`image` is missing"],
		[{ image: 7 }, "must be a string"],
		[{ image: "https://example.com/a.jpg" }, "links are not followed"],
		[{ image: "not base64!" }, "is not base64 text"],
		[{ image: "data:image/png,abc" }, "without `;base64,`"],
		[
			{ image: Buffer.from("just some text").toString("base64") },
			"not a picture that can be read. Readable formats: jpeg, png",
		],
		[
			{
				image: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>").toString("base64"),
			},
			"not a picture that can be read",
		],
		[{ ...size, sizes: [] }, "a list of 1 to 16 sizes"],
		[{ ...size, sizes: Array(17).fill(10) }, "a list of 1 to 16 sizes"],
		[{ ...size, sizes: [64, 0] }, "`sizes[1]` is 0; width and height must be whole numbers from 1 to 2048"],
		[{ ...size, sizes: [2049] }, "`sizes[0]` is 2049"],
		[{ ...size, sizes: [{ width: 1.5 }] }, "from 1 to 2048"],
		[{ ...size, sizes: [{}] }, "from 1 to 2048"],
		[{ ...size, sizes: [null] }, "from 1 to 2048"],
		[{ ...size, format: "bmp" }, '`format` "bmp" is unknown. Use one of: webp, jpeg, png, avif.'],
		[{ ...size, fit: "outside" }, "Use one of: inside, cover, contain, fill."],
		[{ ...size, quality: 0 }, "`quality` must be a whole number from 1 to 100."],
	])("%j is refused with a sentence", async (input, sentence) => {
		await expect(all(input)).rejects.toThrow(sentence);
	});

	it("says so when a picture breaks off in the middle", async () => {
		const half = (await picture("landscape.jpg")).subarray(0, 30_000).toString("base64");
		await expect(all({ image: half })).rejects.toThrow("The picture cannot be decoded");
	});

	it("refuses a small file that unpacks to too many pixels", async () => {
		const bomb = await sharp({
			create: { width: 8000, height: 7000, channels: 3, background: "white" },
		})
			.png()
			.toBuffer();
		await expect(all({ image: bomb.toString("base64") })).rejects.toThrow(
			"has 8000 x 7000 pixels; the most is 50000000",
		);
	});
});

describe("thumbnail example: abort", () => {
	it("stops before the next size", async () => {
		const stop = new AbortController();
		const made: Thumbnail[] = [];
		const work = async () => {
			for await (const thumbnail of resize({ image: landscape, sizes: [32, 48, 64] }, stop.signal)) {
				made.push(thumbnail);
				stop.abort(new Error("cancelled"));
			}
		};
		await expect(work()).rejects.toThrow("cancelled");
		expect(made).toHaveLength(1);
	});
});
