/**
 * Makes the pictures in `examples/pictures/`: `node scripts/make-pictures.ts`. They are committed,
 * so this runs only to change them. The page and the receipt are set in the DejaVu fonts, which
 * must be installed (Debian: fonts-dejavu-core, fonts-dejavu-extra). The text of the page is the
 * opening of "Alice's Adventures in Wonderland" (Lewis Carroll, 1865), which is in the public
 * domain.
 */
import { writeFile } from "node:fs/promises";
import sharp from "sharp";
import type { OverlayOptions } from "sharp";
import { landscape } from "./make-landscape.ts";

const PAGE = { width: 1000, height: 1170, margin: 110 };
const RECEIPT = { width: 620, height: 900 };
const TABLE = { width: 780, height: 1040 };

const ALICE = [
	"Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or twice she had " +
		"peeped into the book her sister was reading, but it had no pictures or conversations in it, “and what is the use of a book,” " +
		"thought Alice, “without pictures or conversations?”",
	"So she was considering in her own mind (as well as she could, for the hot day made her feel very sleepy and stupid), whether the " +
		"pleasure of making a daisy-chain would be worth the trouble of getting up and picking the daisies, when suddenly a White Rabbit " +
		"with pink eyes ran close by her.",
	"There was nothing so <i>very</i> remarkable in that; nor did Alice think it so <i>very</i> much out of the way to hear the Rabbit " +
		"say to itself, “Oh dear! Oh dear! I shall be too late!”",
];

const SOLD = [
	["Green tea, loose 100 g", "6.40"],
	["Rye bread 750 g", "4.20"],
	["Goat cheese", "5.85"],
	["Apples 1.2 kg", "3.60"],
	["Honey 250 g", "7.90"],
] as const;

/** Text set by Pango as an image with a transparent ground. */
async function typeset(
	text: string,
	settings: {
		font: string;
		width: number;
		justify?: boolean;
		align?: "left" | "center";
		spacing?: number;
	},
) {
	const { data, info } = await sharp({
		text: { text: `<span foreground="#221e1a">${text}</span>`, rgba: true, dpi: 72, ...settings },
	})
		.png()
		.toBuffer({ resolveWithObject: true });
	return { data, height: info.height, width: info.width };
}

/** A book page: a chapter's title and three paragraphs, scanned slightly askew, in greys. */
async function page(): Promise<Buffer> {
	const width = PAGE.width - 2 * PAGE.margin;
	const layers: OverlayOptions[] = [];
	let top = 110;
	for (const [text, font, gap] of [
		["CHAPTER I.", "DejaVu Serif Bold 26", 26],
		["DOWN THE RABBIT-HOLE.", "DejaVu Serif 22", 54],
	] as const) {
		const line = await typeset(text, { font, width, align: "center" });
		layers.push({ input: line.data, top, left: Math.round((PAGE.width - line.width) / 2) });
		top += line.height + gap;
	}
	for (const text of ALICE) {
		const block = await typeset(`      ${text}`, {
			font: "DejaVu Serif Condensed 29",
			width,
			justify: true,
			spacing: 16,
		});
		layers.push({ input: block.data, top, left: PAGE.margin });
		top += block.height + 22;
	}
	const number = await typeset("1", { font: "DejaVu Serif 20", width: 60 });
	layers.push({ input: number.data, top: PAGE.height - 90, left: PAGE.width / 2 });
	const gutter = Buffer.from(
		`<svg width="${PAGE.width}" height="${PAGE.height}"><defs><linearGradient id="g"><stop offset="0" stop-color="#000" stop-opacity=".35"/>` +
			`<stop offset=".09" stop-color="#000" stop-opacity=".05"/><stop offset=".2" stop-color="#000" stop-opacity="0"/></linearGradient></defs>` +
			`<rect width="100%" height="100%" fill="url(#g)"/></svg>`,
	);
	const paper = {
		width: PAGE.width,
		height: PAGE.height,
		channels: 3 as const,
		background: "#efe8d8",
	};
	const flat = await sharp({ create: paper })
		.composite([...layers, { input: gutter }])
		.png()
		.toBuffer();
	const askew = await sharp(flat).rotate(0.6, { background: "#efe8d8" }).png().toBuffer();
	const edge = { left: 24, top: 24, width: PAGE.width - 30, height: PAGE.height - 30 };
	return await sharp(askew)
		.extract(edge)
		.resize(800)
		.greyscale()
		.png({ palette: true, colours: 32, dither: 0.3, effort: 10 })
		.toBuffer();
}

function receiptText(): string {
	const row = (left: string, right: string) => `${left.padEnd(28)}${right.padStart(8)}`;
	const total = SOLD.reduce((sum, [, price]) => sum + Number(price), 0);
	const tax = (total * 7) / 107;
	return [
		"      HARBOUR STREET GROCERY",
		"        12 Harbour Street",
		"",
		"Receipt 20417        14 March 2025",
		"-".repeat(36),
		...SOLD.map(([name, price]) => row(name, price)),
		"-".repeat(36),
		row("TOTAL", total.toFixed(2)),
		row("Cash", "30.00"),
		row("Change", (30 - total).toFixed(2)),
		row("Tax 7 % included", tax.toFixed(2)),
		"",
		"      Thank you for your visit",
	].join("\n");
}

/** A till receipt photographed on a wooden table: light from one side, a fold, a slight turn. */
async function receipt(): Promise<Buffer> {
	const text = await typeset(receiptText(), {
		font: "DejaVu Sans Mono 24",
		width: RECEIPT.width,
		spacing: 13,
	});
	const { width, height } = RECEIPT;
	const light = Buffer.from(
		`<svg width="${width}" height="${height}"><defs><linearGradient id="a" x2="1" y2=".6"><stop offset="0" stop-color="#fff" stop-opacity=".5"/>` +
			`<stop offset="1" stop-color="#5a4a3a" stop-opacity=".3"/></linearGradient><linearGradient id="f" x2="0" y2="1">` +
			`<stop offset=".525" stop-opacity="0"/><stop offset=".54" stop-opacity=".13"/><stop offset=".545" stop-color="#fff" stop-opacity=".25"/>` +
			`<stop offset=".6" stop-color="#fff" stop-opacity="0"/></linearGradient></defs><rect width="100%" height="100%" fill="url(#a)"/>` +
			`<rect width="100%" height="100%" fill="url(#f)"/></svg>`,
	);
	const slip = await sharp({ create: { width, height, channels: 4, background: "#f4f1ea" } })
		.composite([
			{ input: text.data, top: 60, left: Math.round((width - text.width) / 2) },
			{ input: light },
		])
		.png()
		.toBuffer();
	const turned = await sharp(slip)
		.rotate(-1.6, { background: "#00000000" })
		.png()
		.toBuffer({ resolveWithObject: true });
	const place = {
		left: Math.round((TABLE.width - turned.info.width) / 2),
		top: Math.round((TABLE.height - turned.info.height) / 2),
	};
	const shadow = await sharp(turned.data)
		.linear([0, 0, 0, 0.55], [0, 0, 0, 0])
		.blur(9)
		.png()
		.toBuffer();
	const wood = Buffer.from(
		`<svg width="${TABLE.width}" height="${TABLE.height}"><filter id="w"><feTurbulence type="fractalNoise" baseFrequency=".004 .11" numOctaves="4" seed="8"/>` +
			`<feColorMatrix values=".5 0 0 0 .22  .38 0 0 0 .11  .26 0 0 0 .05  0 0 0 0 1"/></filter><rect width="100%" height="100%" filter="url(#w)"/></svg>`,
	);
	const photo = await sharp(wood)
		.composite([
			{ input: shadow, left: place.left + 9, top: place.top + 12 },
			{ input: turned.data, ...place },
		])
		.removeAlpha()
		.png()
		.toBuffer();
	return await sharp(photo).blur(0.6).jpeg({ quality: 76, mozjpeg: true }).toBuffer();
}

for (const [name, bytes] of [
	["landscape.jpg", await landscape()],
	["page.png", await page()],
	["receipt.jpg", await receipt()],
] as const) {
	await writeFile(new URL(`../examples/pictures/${name}`, import.meta.url), bytes);
	console.log(`${name}: ${bytes.length} bytes`);
}
