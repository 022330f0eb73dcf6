import { describe, expect, it } from "vitest";
import { bytesOf, fileNameOf, mediaIn, mediaOf } from "./media.ts";

const base64 = (head: string): string => btoa(head.padEnd(80, "\0"));
const PNG = base64("\x89PNG\r\n\x1a\n");

describe("pictures and sounds in JSON", () => {
	it.each([
		["image/png", "\x89PNG\r\n\x1a\n"],
		["image/jpeg", "\xff\xd8\xff\xe0"],
		["image/gif", "GIF89a"],
		["image/webp", "RIFF\x10\0\0\0WEBPVP8 "],
		["image/avif", "\0\0\0\x20ftypavif"],
		["audio/wav", "RIFF\x10\0\0\0WAVEfmt "],
		["audio/mpeg", "ID3\x04"],
		["audio/ogg", "OggS"],
		["audio/flac", "fLaC"],
		["audio/mp4", "\0\0\0\x20ftypM4A "],
		["video/mp4", "\0\0\0\x20ftypisom"],
		["video/webm", "\x1a\x45\xdf\xa3"],
	])("knows %s by its first bytes", (type, head) => {
		expect(mediaOf(base64(head))).toMatchObject({
			type,
			url: `data:${type};base64,${base64(head)}`,
		});
	});

	it("believes the bytes, not what a data URL says", () => {
		expect(mediaOf(`data:text/html;base64,${PNG}`)?.url).toBe(`data:image/png;base64,${PNG}`);
		expect(mediaOf(`data:image/svg+xml;base64,${base64("<svg onload=alert(1)>")}`)).toBeUndefined();
		expect(mediaOf(`data:image/png,${PNG}`)).toBeUndefined();
	});

	it("takes no other text for one", () => {
		expect(mediaOf(`${PNG}<script>`)).toBeUndefined();
		expect(mediaOf("hello ".repeat(40))).toBeUndefined();
		expect(mediaOf("iVBORw0KGgo=")).toBeUndefined();
	});

	it("finds them with their paths, so many at most", () => {
		expect(mediaIn({ pages: [{ image: PNG }, { image: "none" }], cover: PNG }).map(({ path }) => path)).toEqual([
			"pages[0].image",
			"cover",
		]);
		expect(
			mediaIn(
				Array.from({ length: 50 }, () => PNG),
				3,
			),
		).toHaveLength(3);
	});

	it("is saved with its bytes, under a name of where it is", () => {
		const sound = mediaOf(base64("ID3\x04"))!;
		expect(bytesOf(sound)).toEqual(new Uint8Array(Buffer.from(base64("ID3\x04"), "base64")));
		expect([fileNameOf("data", sound), fileNameOf("", sound)]).toEqual(["data.mp3", "output.mp3"]);
		expect(fileNameOf("pages[0].../image", mediaOf(PNG)!)).toBe("pages-0-image.png");
	});
});
