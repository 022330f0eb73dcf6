/** In place of a diffusion model: waves whose colours follow from prompt and seed. */

/** RGB bytes, row by row; `detail`: 0 to 1. */
export function draw({ width, height, prompt, seed, detail }) {
	const pixels = Buffer.alloc(width * height * 3);
	let hash = seed >>> 0;
	for (const letter of prompt) hash = (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0;
	const phases = [hash & 255, (hash >>> 8) & 255, (hash >>> 16) & 255].map((each) => each / 40);
	for (let y = 0, at = 0; y < height; y += 1)
		for (let x = 0; x < width; x += 1)
			for (const phase of phases) {
				const wave = Math.sin(phase + (x * detail) / 17) + Math.cos(phase * 2 + (y * detail) / 23);
				pixels[at] = Math.round(128 + 60 * wave);
				at += 1;
			}
	return pixels;
}
