/** `/v1/endpoints/{endpoint}/releases` (D50). */
import { DAY_MS } from "../../kernel/core/durations.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { HOUR_MS, newReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import { percentilesOf } from "../../kernel/core/metrics/series.ts";
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../kernel/http/exchange/format.ts";
import { readNothing } from "../../kernel/http/exchange/object-body.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { holding } from "../../kernel/http/memory/call-memory.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import { ERRORS } from "./errors.ts";
import { rollBackTo } from "./roll-back.ts";
import type { LIST_RELEASES, RELEASE_ROUTES } from "./routes.ts";

/** Limit that no list reaches: the last 100 versions are kept, and those that workers run. */
const ALL = 100_000;

export function releaseHandlers(d: Kernel): HandlersOf<typeof RELEASE_ROUTES> {
	async function listReleases(call: Call<"endpoint">): Promise<AnswerOf<typeof LIST_RELEASES>> {
		const { endpoint } = call.params;
		const { releases, ...history } = await d.releases.history(endpoint, {
			before: Number.MAX_SAFE_INTEGER,
			limit: ALL,
			hold: holding(call),
		});
		const from = d.now() - DAY_MS;
		const jobs = await d.metrics.history.byRelease({ endpoint, step: HOUR_MS, from, to: Infinity });
		return {
			...history,
			releases: releases.map(({ createdAt, ...each }) => {
				const { execution, ...counts } = jobs.get(each.version) ?? newReleaseJobs();
				return {
					...each,
					createdAt: isoJobTime(d, createdAt),
					jobs: { ...counts, executionMs: percentilesOf(execution) },
				};
			}),
		};
	}

	return {
		listReleases,
		async rollBackRelease(call) {
			await readNothing(call);
			const version = versionIn(call);
			await rollBackTo(d.endpoints, call.params.endpoint, { version, by: principalOf(call).keyId });
			return await listReleases(call);
		},
	};
}

function versionIn({ params: { endpoint, version } }: Call<"endpoint" | "version">): number {
	if (/^[1-9]\d{0,8}$/.test(version)) return Number(version);
	throw new ApiError(ERRORS.release_not_found, { endpoint, version: version.slice(0, 20) });
}
