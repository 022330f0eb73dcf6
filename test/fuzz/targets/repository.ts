/** Dockerfiles of repositories (D36). */
import fc from "fast-check";
import { readDockerfile } from "../../../src/cli/repository/dockerfile.ts";
import { oddText } from "../generate.ts";
import { must, target } from "../target.ts";

const line = fc.oneof(
	oddText,
	fc.constantFrom(
		"FROM a:1 AS b",
		"FROM b",
		"COPY --from=b /app /app",
		"COPY src/* .",
		'ADD ["a", "b/", "/c"]',
		"RUN a \\",
		'CMD ["python", "/app/a.py"]',
		"CMD exec python a.py",
		'ENTRYPOINT ["/bin/sh", "-c"]',
	),
);

export const REPOSITORY = target({
	name: "repository",
	sources: ["cli/repository/dockerfile.ts"],
	cases: fc.record({ lines: fc.array(line, { maxLength: 16 }) }),
	check({ lines }) {
		const { start, sources } = readDockerfile(lines.map(String).join("\n"));
		must(
			start.every((word) => typeof word === "string"),
			"a word is no text",
		);
		for (const source of sources) must(!source.startsWith("/"), `${source} is no path in the repository`);
	},
});
