/** Makes `deploy/kustomize` of the chart: `npm run kustomize`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chartRenderer, kustomizeFiles, noRenderer } from "./chart.ts";

const FOLDER = fileURLToPath(new URL("../deploy/kustomize", import.meta.url));

if (noRenderer !== undefined) {
	process.stderr.write(`The chart cannot be rendered: ${noRenderer}.\n`);
	process.exit(1);
}
const renderer = chartRenderer();
try {
	const files = await kustomizeFiles(renderer);
	rmSync(FOLDER, { recursive: true, force: true });
	for (const [path, text] of files) {
		mkdirSync(dirname(join(FOLDER, path)), { recursive: true });
		writeFileSync(join(FOLDER, path), text);
	}
} finally {
	renderer.remove();
}
