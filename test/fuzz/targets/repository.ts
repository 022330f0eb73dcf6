/** Files of repositories, and what Docker sends of a build (D36). */
import fc from "fast-check";
import { imagesOf, readDockerfile, sourcesOf, startOf } from "../../../src/cli/dev/dockerfile.ts";
import { ignoreRules } from "../../../src/launchers/docker/images/build-context.ts";
import { buildProgress } from "../../../src/launchers/docker/images/build-progress.ts";
import { oddText } from "../generate.ts";
import { must, target } from "../target.ts";

const line = fc.oneof(
	oddText,
	fc.constantFrom(
		"FROM a:1 AS b",
		"FROM b",
		"FROM ${V:-x}",
		"ARG V=b",
		"WORKDIR /app",
		"COPY --from=b /app /app",
		"COPY src/* .",
		'ADD ["a", "b/", "/c"]',
		"RUN <<END",
		"END",
		"RUN a \\",
		'CMD ["python", "/app/a.py"]',
		"CMD exec python a.py",
		'ENTRYPOINT ["/bin/sh", "-c"]',
		"!a/**/b*?",
		"**",
	),
);

export const REPOSITORY = target({
	name: "repository",
	sources: ["cli/dev/dockerfile.ts", "launchers/docker/images/build-"],
	cases: fc.record({ lines: fc.array(line, { maxLength: 16 }), path: oddText, records: fc.array(oddText) }),
	check({ lines, path, records }) {
		const text = lines.map(String).join("\n");
		const stages = readDockerfile(text);
		for (const stage of stages) {
			const { words } = startOf(stage);
			must(
				words.every((word) => typeof word === "string"),
				"a word is no text",
			);
			for (const source of sourcesOf(stages, stage, String(path)))
				must(!source.startsWith("/"), `${source} is no path in the repository`);
		}
		must(
			imagesOf(stages).every((image) => image !== "" && image !== "scratch"),
			"an image without a name",
		);
		ignoreRules(text)(String(path));

		const progress = buildProgress();
		for (const record of records) {
			progress.read({ id: "moby.buildkit.trace", aux: Buffer.from(String(record), "latin1").toString("base64") });
			const { done, total } = progress.read({ id: "moby.buildkit.trace", aux: String(record), stream: String(record) });
			must(done <= total, `${done} of ${total} steps are done`);
		}
		must(progress.log().length <= 4000, "the output is too long");
	},
});
