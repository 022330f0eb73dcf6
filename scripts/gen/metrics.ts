/** `docs/reference/metrics.md`: the families of `/metrics`, from `src/modules/metrics/families/` and other modules. */
import { AREAS } from "../../src/modules/metrics/families/families.ts";
import { MODULES } from "../../src/modules/index.ts";
import { code, type Page, plain, table } from "./markdown.ts";

const OF_MODULES = await Promise.all(
	MODULES.flatMap(({ name, familyDescriptions }) =>
		familyDescriptions ? [familyDescriptions().then((all) => [`Module ${code(name)}`, all] as const)] : [],
	),
);

export const metrics: Page = {
	file: "metrics.md",
	title: "Metrics",
	about: "the families of `/metrics`, with types, labels and meanings",
	body: () =>
		[
			"`GET /metrics` has these in Prometheus' text format ([monitoring](../guides/monitoring.md)). Gauges that " +
				"cover all servers are the same on each of them; the rest is of the answering server since its start. " +
				"Series of endpoints that were deleted end. Histograms have `_bucket` with `le` from 0.001 to 4194.304 s, " +
				"or from 1 to 4194304 where they count, each bound four times the one before.",
			...[...Object.entries(AREAS), ...OF_MODULES].flatMap(([area, families]) => [
				`## ${area}`,
				table(
					["Family", "Type", "Labels", "Meaning"],
					families.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(", "), plain(help)]),
				),
			]),
		].join("\n\n"),
};
