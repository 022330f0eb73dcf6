/** Releases of an endpoint, as RunPod's management API lists them (D49, D50). */
import type { LIST_MANAGED_RELEASES } from "../routes/releases.ts";
import type { AnswerOf } from "../../../kernel/api/definition/route.ts";
import type { ReleaseChange } from "../../../kernel/core/releases/launched-settings.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../../kernel/http/exchange/format.ts";
import { holding } from "../../../kernel/http/memory/call-memory.ts";
import { pageAsked, paged } from "../exchange.ts";

/** Throws `endpoint_not_found`. */
export async function list(call: Call<"endpoint">): Promise<AnswerOf<typeof LIST_MANAGED_RELEASES>> {
	const { engine, params } = call;
	const { after, limit } = pageAsked(call);
	const { version, workers, releases } = await engine.releases.history(params.endpoint, {
		before: after?.createdAt ?? Number.MAX_SAFE_INTEGER,
		limit: limit + 1,
		hold: holding(call),
	});
	const { items, pagination } = paged(call, {
		items: releases,
		// In the order of versions.
		keyOf: ({ version: createdAt }) => ({ createdAt, id: "" }),
	});
	return {
		endpointVersion: version,
		rollout: {
			inProgress: workers.current < workers.all,
			workersOnLatest: workers.current,
			workersTotal: workers.all,
			percentOnLatest: workers.all === 0 ? 0 : Math.round((100 * workers.current) / workers.all),
		},
		releases: items.map((each) => ({
			id: `${params.endpoint}-${each.version}`,
			version: each.version,
			source: "MANUAL",
			buildId: null,
			createdByUserId: each.createdBy ?? null,
			createdAt: isoJobTime(engine, each.createdAt),
			workerCount: each.workers,
			diff: each.diff.map(namedAsThere),
		})),
		pagination,
	};
}

const NAMES: Readonly<Record<string, string>> = {
	"launcher.image": "template.imageName",
	gpusPerWorker: "gpuCount",
};

function namedAsThere({ field, ...change }: ReleaseChange): ReleaseChange {
	return { field: NAMES[field] ?? field.replace(/^env\./, "template.env."), ...change };
}
