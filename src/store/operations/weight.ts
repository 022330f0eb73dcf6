import { sizeOf } from "../../core/json/json-text.ts";
import type { OpName, Query } from "./operation.ts";

/** Characters of payload in a query, by which batches are cut. */
export function weightOf(name: OpName, q: unknown): number {
	switch (name) {
		case "jobs.insert":
			return sizeOf((q as Query<"jobs.insert">).input);
		case "jobs.report":
			return sizeOf((q as Query<"jobs.report">).outcome.output ?? "");
		case "jobs.progress":
			return sizeOf((q as Query<"jobs.progress">).value);
		case "chunks.append":
			return (q as Query<"chunks.append">).chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		default:
			return 0;
	}
}
