import type { Family, FamilyDescription } from "../../kernel/core/metrics/family.ts";
import type { TokenCounts } from "./reply.ts";

const TOKENS: FamilyDescription = {
	name: "sluice_openai_tokens_total",
	type: "counter",
	labels: ["endpoint", "kind"],
	help: "Tokens by the `usage` of answers of `/openai/*`, `input` and `output`; no series without any.",
};

export const FAMILIES = [TOKENS];

export function familiesOf(tokens: TokenCounts): Family[] {
	return [{ ...TOKENS, samples: tokens.samples() }];
}
