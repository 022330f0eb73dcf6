/**
 * Renders the example landscape pixel by pixel: sky with clouds, ridges in haze, a lake that
 * mirrors them, pines on the shore. Everything comes from one seeded noise function, so that the
 * picture is the same every time.
 */
import sharp from "sharp";

type Color = readonly [number, number, number];
type Tree = { x: number; base: number; height: number; seed: number };

const WIDTH = 1200;
const HEIGHT = 800;
const SHORE = 0.61;
const SUN = { x: 0.795, y: 0.285 };

const clamp = (value: number): number => Math.min(1, Math.max(0, value));
const mix = (a: Color, b: Color, t: number): Color => [
	a[0] + (b[0] - a[0]) * t,
	a[1] + (b[1] - a[1]) * t,
	a[2] + (b[2] - a[2]) * t,
];
const smooth = (from: number, to: number, value: number): number => {
	const t = clamp((value - from) / (to - from));
	return t * t * (3 - 2 * t);
};

/** A pseudo-random number in [0, 1) for a lattice point. */
function hash(x: number, y: number, seed: number): number {
	let h = Math.imul(x, 374761393) ^ Math.imul(y, 668265263) ^ Math.imul(seed, 2147483647);
	h = Math.imul(h ^ (h >>> 13), 1274126177);
	return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
}

function noise(x: number, y: number, seed: number): number {
	const xi = Math.floor(x);
	const yi = Math.floor(y);
	const u = smooth(0, 1, x - xi);
	const v = smooth(0, 1, y - yi);
	const top = hash(xi, yi, seed) * (1 - u) + hash(xi + 1, yi, seed) * u;
	const bottom = hash(xi, yi + 1, seed) * (1 - u) + hash(xi + 1, yi + 1, seed) * u;
	return top * (1 - v) + bottom * v;
}

/** Noise over several octaves, in [0, 1). */
function fractal(x: number, y: number, seed: number, octaves: number): number {
	let sum = 0;
	let weight = 0.5;
	let total = 0;
	for (let octave = 0; octave < octaves; octave += 1) {
		sum += weight * noise(x * 2 ** octave, y * 2 ** octave, seed + octave);
		total += weight;
		weight *= 0.5;
	}
	return sum / total;
}

/**
 * Far to near: where the crest lies (share of the height), how rough it is, its colour in the light
 * and its share of haze.
 */
const RIDGES = [
	{ crest: 0.2, relief: 0.3, scale: 3.1, seed: 11, color: [104, 118, 152], haze: 0.34, snow: 0.35 },
	{ crest: 0.33, relief: 0.22, scale: 4.2, seed: 23, color: [82, 98, 128], haze: 0.24, snow: 0.44 },
	{ crest: 0.43, relief: 0.16, scale: 5.4, seed: 37, color: [58, 78, 92], haze: 0.15, snow: 0 },
	{ crest: 0.51, relief: 0.11, scale: 7.5, seed: 53, color: [36, 56, 56], haze: 0.07, snow: 0 },
] as const;
const HAZE: Color = [238, 190, 160];

const crests = RIDGES.map((ridge) =>
	Array.from({ length: WIDTH }, (_, px) => {
		const x = (px / WIDTH) * ridge.scale;
		const crag = 1 - Math.abs(2 * fractal(x, 0.5, ridge.seed, 2) - 1);
		const rough = fractal(x * 4, 3.5, ridge.seed, 5);
		return ridge.crest + ridge.relief * (1 - 0.75 * crag - 0.25 * rough);
	}),
);

function sky(x: number, y: number): Color {
	const high = mix([34, 66, 122], [128, 160, 196], smooth(0, 0.3, y));
	let color = mix(high, [250, 206, 158], smooth(0.08, 0.42, y));
	const distance = Math.hypot((x - SUN.x) * 1.5, y - SUN.y);
	color = mix(color, [255, 232, 178], 0.8 * Math.exp(-distance * distance * 22));
	color = mix(color, [255, 250, 232], smooth(0.036, 0.03, distance));
	const cloud = smooth(
		0.5,
		0.78,
		fractal(x * 3.2 + 4, y * 13 + fractal(x * 2, y * 4, 5, 3), 71, 6),
	);
	const lit = mix([226, 204, 206], [255, 218, 172], smooth(0.6, 0.05, distance));
	return mix(color, lit, cloud * 0.75 * smooth(0.5, 0.1, y));
}

/** Sky and ridges, as seen above the water. */
function above(px: number, y: number): Color {
	const x = px / WIDTH;
	for (let index = RIDGES.length - 1; index >= 0; index -= 1) {
		const ridge = RIDGES[index]!;
		const crest = crests[index]![px]!;
		if (y < crest) continue;
		const depth = y - crest;
		const u = x * ridge.scale * 7;
		const relief =
			fractal(u + depth * 16, y * 34, ridge.seed, 5) -
			fractal(u + 0.35 + depth * 16, y * 34, ridge.seed, 5);
		let color: Color = ridge.color;
		const light = clamp(0.5 + relief * 2.4);
		if (ridge.snow > 0) {
			const line = ridge.snow + 0.1 * (fractal(u * 1.5, y * 9, ridge.seed + 9, 4) - 0.5);
			color = mix(
				color,
				[226, 222, 228],
				0.8 * smooth(line, line - 0.06, y) * smooth(0.32, 0.62, light + 0.1),
			);
		}
		color = mix(mix(color, [16, 26, 52], 0.5), mix(color, [255, 214, 168], 0.3), light);
		if (index >= 2)
			color = mix(
				color,
				[10, 24, 22],
				0.5 * smooth(0.45, 0.7, fractal(px / 3, y * 190, ridge.seed, 3)),
			);
		const glow = 0.6 * Math.exp(-(((x - SUN.x) * 3) ** 2));
		const mist =
			0.5 * smooth(0.03, 0.22, depth) * (0.55 + 0.45 * fractal(x * 5, y * 14, ridge.seed + 3, 4));
		return mix(color, HAZE, clamp(ridge.haze + glow * ridge.haze + mist * (1 - ridge.haze)));
	}
	return sky(x, y);
}

function lake(px: number, y: number): Color {
	const depth = (y - SHORE) / (1 - SHORE);
	const stretch = 1 / (0.015 + depth * 0.35);
	const ripple = fractal((px / WIDTH) * (26 - 10 * depth), depth * 9 * (1 + stretch), 91, 4) - 0.5;
	const mirrored = SHORE - (y - SHORE) * 1.15 - 0.004 + ripple * (0.01 + 0.05 * depth);
	const column = Math.min(WIDTH - 1, Math.max(0, Math.round(px + ripple * 26 * depth)));
	let color = mix(
		above(column, Math.min(mirrored, SHORE - 0.002)),
		[14, 34, 58],
		0.24 + 0.36 * depth,
	);
	const glitter =
		Math.exp(-(((px / WIDTH - SUN.x) / (0.03 + 0.05 * depth)) ** 2)) *
		smooth(0.1, 0.2, fractal((px / WIDTH) * 46, Math.sqrt(depth) * 40, 97, 3) - 0.42);
	color = mix(color, [255, 226, 176], 0.75 * glitter);
	return mix(color, HAZE, 0.4 * smooth(0.05, 0, depth));
}

function pines(): Tree[] {
	const trees: Tree[] = [];
	for (let index = 0; index < 46; index += 1) {
		const along = index / 45;
		const x = along < 0.6 ? (along / 0.6) * 0.33 - 0.02 : 0.84 + ((along - 0.6) / 0.4) * 0.2;
		const edge = x < 0.5 ? smooth(0.34, 0, x) : smooth(0.82, 1, x);
		const height = (0.07 + 0.36 * edge ** 1.4) * (0.65 + 0.55 * hash(index, 1, 7));
		trees.push({
			x: x + 0.012 * (hash(index, 2, 7) - 0.5),
			base: bank(x) + 0.02,
			height,
			seed: index,
		});
	}
	return trees;
}

/** Where the near shore begins, as a share of the height; beyond 1 there is none. */
function bank(x: number): number {
	const left = 0.8 + 0.75 * x * x + 0.06 * x;
	const right = 0.86 + 3.4 * (1.02 - x) ** 2;
	return Math.min(left, right) + 0.025 * (fractal(x * 30, 1, 131, 4) - 0.5);
}

/** How much of a pine covers the point: 0 or 1, with ragged branches that widen downwards. */
function covers(tree: Tree, px: number, y: number): boolean {
	const down = (y - (tree.base - tree.height)) / tree.height;
	if (down < 0 || down > 1) return false;
	const offset = ((px / WIDTH - tree.x) * WIDTH) / HEIGHT;
	const tier = (down * (9 + (tree.seed % 4)) + 0.35 * hash(tree.seed, offset > 0 ? 1 : 2, 3)) % 1;
	const ragged = fractal(px / 4, y * 170, 200 + tree.seed, 3);
	const half =
		tree.height * (0.008 + 0.15 * down ** 0.9 * (0.45 + 0.55 * tier) * (0.45 + 0.9 * ragged));
	return Math.abs(offset) < (down > 0.94 ? tree.height * 0.014 : half);
}

/** The landscape as JPEG bytes, 1200 x 800. */
export async function landscape(): Promise<Buffer> {
	const pixels = Buffer.alloc(WIDTH * HEIGHT * 3);
	const trees = pines().toSorted((a, b) => a.height - b.height);
	for (let py = 0; py < HEIGHT; py += 1) {
		for (let px = 0; px < WIDTH; px += 1) {
			const x = px / WIDTH;
			const y = py / HEIGHT;
			let color = y < SHORE ? above(px, y) : lake(px, y);
			const ground = bank(x);
			if (y > ground) {
				const grass = fractal(px / 5, py / 26, 141, 4);
				color = mix(
					[10, 18, 16],
					[64, 66, 38],
					0.75 * grass * smooth(ground + 0.12, ground, y) + 0.15 * grass,
				);
			}
			const tree = trees.findLast((candidate) => covers(candidate, px, y));
			if (tree !== undefined) {
				const rim = clamp(
					((px / WIDTH - tree.x) * (SUN.x > tree.x ? 1 : -1) * 9) / (tree.height + 0.05),
				);
				color = mix(
					mix([8, 17, 17], [28, 44, 32], fractal(px / 3, py / 3, 151, 3)),
					[126, 98, 60],
					0.45 * rim,
				);
			}
			const vignette = 1 - 0.3 * ((x - 0.5) ** 2 + (y - 0.5) ** 2) * 1.6;
			const grain = (hash(px, py, 5) + hash(px, py, 6) - 1) * 5;
			for (let channel = 0; channel < 3; channel += 1) {
				pixels[(py * WIDTH + px) * 3 + channel] = Math.min(
					255,
					Math.max(0, color[channel]! * vignette + grain),
				);
			}
		}
	}
	return await sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
		.blur(0.5)
		.jpeg({ quality: 78, mozjpeg: true })
		.toBuffer();
}
