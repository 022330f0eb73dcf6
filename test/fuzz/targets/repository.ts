/** Dockerfiles of repositories (D36). */
import fc from "fast-check";
import { readDockerfile, sourcesOf, startOf } from "../../../src/cli/repository/dockerfile.ts";
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
	),
);

export const REPOSITORY = target({
	name: "repository",
	sources: ["cli/repository/dockerfile.ts"],
	cases: fc.record({ lines: fc.array(line, { maxLength: 16 }), path: oddText }),
	check({ lines, path }) {
		const text = lines.map(String).join("\n");
		const { stages, fill } = readDockerfile(text);
		fill(String(path));
		for (const stage of stages) {
			const { words } = startOf(stage);
			must(
				words.every((word) => typeof word === "string"),
				"a word is no text",
			);
			for (const source of sourcesOf(stages, stage, String(path)))
				must(!source.startsWith("/"), `${source} is no path in the repository`);
		}
	},
});
