import { start } from "sluice-worker";
import { draw } from "./draw.js";
import { png } from "./png.js";

await start({
	async handler(job, { progress, signal }) {
		const { workflow = {}, prompt = "", seed = 0 } = job.input;
		const { width = 256, height = 256, steps = 8 } = workflow;
		if (!(width * height <= 4_194_304)) throw new Error("At most 4,194,304 pixels.");
		let pixels;
		for (let step = 1; step <= steps; step += 1) {
			// A cancelled job stops between two steps.
			signal.throwIfAborted();
			pixels = draw({ width, height, prompt, seed, detail: step / steps });
			await progress({ step, steps, percent: Math.round((100 * step) / steps) });
		}
		const data = png({ width, height, pixels }).toString("base64");
		// The console shows pictures in outputs.
		return {
			images: [{ filename: "image.png", type: "base64", data: `data:image/png;base64,${data}` }],
		};
	},
});
