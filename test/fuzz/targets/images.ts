/** Names of images and registries, and what Docker and registries say of a pull (D45). */
import fc from "fast-check";
import { imageName } from "../../../src/kernel/core/access/image-registry.ts";
import { readRegistryName } from "../../../src/modules/registries/login.ts";
import { pullFault } from "../../../src/modules/docker/images/pull-texts.ts";
import { pullProgress } from "../../../src/modules/docker/images/progress.ts";
import { oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const name = fc.oneof(
	oddText,
	fc.constantFrom("localhost:5000/a/b:1", "a@sha256:0a", "ghcr.io/x/y:z@sha256:0", "HTTPS://A:1/v2/"),
);
const word = fc.oneof(
	oddText,
	fc.constantFrom("Downloading", "Extracting", "Pull complete", "Download complete", "Waiting"),
);

export const IMAGES = target({
	name: "images",
	sources: ["kernel/core/access/image-registry.ts", "modules/registries/login.ts", "modules/docker/images/"],
	cases: fc.record({
		name,
		text: oddText,
		lines: fc.array(fc.record({ id: word, status: word, current: fc.double(), total: fc.double() }), { maxLength: 12 }),
	}),
	check(q) {
		const image = String(q.name);
		const { repository, version } = imageName(image);
		must(version !== "" || /[:@]$/.test(image) || image.includes("@"), "a version is missing");
		must(image.startsWith(repository), "the repository is not the beginning of the name");
		const registry = readRegistryName(image);
		if (registry !== undefined) same("read again", readRegistryName(registry), registry);
		must(pullFault({ image, text: String(q.text) }).length > 0, "no sentence");

		const progress = pullProgress(image);
		const shown = new Map<string, number>();
		for (const { id, status, current, total } of q.lines) {
			progress.read({ id, status, progressDetail: { current, total } });
			const { message, progress: percent = 0 } = progress.reason();
			must(percent >= (shown.get(message) ?? 0) && percent <= 100, `it shows ${percent} %`);
			shown.set(message, percent);
		}
	},
});
