/** The work of the OCR example, on the shipped pictures, with the real engine. */
import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import sharp from "sharp";
import { base64, loadCreateReader, type Progress, type Reader } from "./pictures.ts";

let reader: Reader;
let createReader: () => Reader;

beforeAll(async () => {
	createReader = await loadCreateReader();
	reader = createReader();
});
afterAll(async () => await reader.close());

describe("ocr example: reading", () => {
	it("reads a page of a book, reports how sure it is and how far it has come, and leaves no file behind", async () => {
		const before = await readdir(process.cwd());
		const progress: Progress[] = [];
		const reading = await reader.read(
			{ image: await base64("page.png") },
			{ onProgress: (step) => progress.push(step) },
		);
		const text = reading.text.replaceAll(/\s+/g, " ");
		expect(text).toContain("DOWN THE RABBIT-HOLE.");
		expect(text).toContain(
			"Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do",
		);
		expect(text).toContain("suddenly a White Rabbit with pink eyes ran close by her.");
		expect(text).toContain("I shall be too late!");
		expect(reading.confidence).toBeGreaterThan(85);
		expect(reading.words).toBeGreaterThan(145);
		expect(reading.lines.length).toBeGreaterThan(15);
		expect(reading.lines.every((line) => line.text.length > 0 && line.confidence >= 0 && line.confidence <= 100)).toBe(
			true,
		);
		expect(progress[0]).toEqual({ step: "starting the engine", percent: 0 });
		const percents = progress.filter(({ step }) => step === "reading").map(({ percent }) => percent);
		expect(percents.length).toBeGreaterThan(1);
		expect(percents).toEqual(percents.toSorted((a, b) => a - b));
		expect(await readdir(process.cwd())).toEqual(before);
	});

	it("reads a photographed receipt with the same engine, given as a data URL", async () => {
		const progress: Progress[] = [];
		const image = `data:image/jpeg;base64,${await base64("receipt.jpg")}`;
		const reading = await reader.read({ image }, { onProgress: (step) => progress.push(step) });
		expect(reading.text).toContain("HARBOUR STREET GROCERY");
		expect(reading.text).toMatch(/TOTAL +27\.95/);
		expect(progress.map(({ step }) => step)).not.toContain("starting the engine");
	});

	it("reads two pictures that come together one after the other, each with its own progress", async () => {
		const reported: string[] = [];
		const read = async (name: string) =>
			await reader.read({ image: await base64(name) }, { onProgress: () => reported.push(name) });
		const first = read("page.png");
		const second = read("receipt.jpg");
		expect((await first).text).toContain("White Rabbit");
		expect((await second).text).toContain("HARBOUR STREET");
		expect(new Set(reported)).toEqual(new Set(["page.png", "receipt.jpg"]));
		expect(reported).toEqual(reported.toSorted((a, b) => reported.indexOf(a) - reported.indexOf(b)));
	});

	it("finds nothing on an empty page", async () => {
		const blank = await sharp({
			create: { width: 400, height: 300, channels: 3, background: "white" },
		})
			.png()
			.toBuffer();
		expect(await reader.read({ image: blank.toString("base64") })).toMatchObject({
			text: "",
			lines: [],
			words: 0,
		});
	});
});

describe("ocr example: wrong input", () => {
	it.each([
		[{}, "`image` is missing"],
		[{ image: "/etc/hostname" }, "not a picture that can be read"],
		[{ image: "https://example.com/a.png" }, "links are not followed"],
	])("%j is refused with a sentence", async (input, sentence) => {
		await expect(reader.read(input)).rejects.toThrow(sentence);
	});
});

describe("ocr example: abort", () => {
	it("stops in the middle of a page; the next picture is read by a new engine", async () => {
		const stop = new AbortController();
		const image = await base64("page.png");
		const onProgress = ({ percent }: Progress) => {
			if (percent > 0) stop.abort(new Error("cancelled"));
		};
		await expect(reader.read({ image }, { signal: stop.signal, onProgress })).rejects.toThrow("cancelled");
		const progress: Progress[] = [];
		const reading = await reader.read(
			{ image: await base64("receipt.jpg") },
			{ onProgress: (step) => progress.push(step) },
		);
		expect(reading.text).toContain("27.95");
		expect(progress[0]?.step).toBe("starting the engine");
	});

	it("stops while the engine starts", async () => {
		const own = createReader();
		const stop = new AbortController();
		const onProgress = () => stop.abort(new Error("cancelled early"));
		await expect(own.read({ image: await base64("receipt.jpg") }, { signal: stop.signal, onProgress })).rejects.toThrow(
			"cancelled early",
		);
		await own.close();
	});

	it("does not begin a job that is already aborted, and keeps the engine", async () => {
		const image = await base64("receipt.jpg");
		await expect(reader.read({ image }, { signal: AbortSignal.abort(new Error("too late")) })).rejects.toThrow(
			"too late",
		);
		const progress: Progress[] = [];
		await reader.read({ image }, { onProgress: (step) => progress.push(step) });
		expect(progress.map(({ step }) => step)).not.toContain("starting the engine");
	});
});
