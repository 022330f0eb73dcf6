/** Releases of endpoints, for operators (D50). */
import type { LIST_RELEASES } from "../../api/releases.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { DAY_MS } from "../../core/durations.ts";
import { ApiError } from "../../core/errors.ts";
import { HOUR_MS, newReleaseJobs } from "../../core/metrics/metric-buckets.ts";
import { percentilesOf } from "../../core/metrics/series.ts";
import { principalOf } from "../gates/auth.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { readNothing } from "../exchange/object-body.ts";
import { holding } from "../memory/call-memory.ts";

/** Versions that workers run are kept beside the last 100: more than these are never there. */
const ALL = 100_000;

type ReleasesAnswer = Promise<AnswerOf<typeof LIST_RELEASES>>;

export async function list(call: Call<"endpoint">): ReleasesAnswer {
	const { engine, params } = call;
	const { endpoint } = params;
	const { releases, ...history } = await engine.releases.history(endpoint, {
		before: Number.MAX_SAFE_INTEGER,
		limit: ALL,
		hold: holding(call),
	});
	const from = engine.now() - DAY_MS;
	const jobs = await engine.metrics.history.byRelease({ endpoint, step: HOUR_MS, from, to: Infinity });
	return {
		...history,
		releases: releases.map(({ createdAt, ...each }) => {
			const { execution, ...counts } = jobs.get(each.version) ?? newReleaseJobs();
			return {
				...each,
				createdAt: isoJobTime(engine, createdAt),
				jobs: { ...counts, executionMs: percentilesOf(execution) },
			};
		}),
	};
}

export async function rollBack(call: Call<"endpoint" | "version">): ReleasesAnswer {
	await readNothing(call);
	const { engine, params } = call;
	await engine.releases.rollBack(params.endpoint, { version: versionIn(call), by: principalOf(call).keyId });
	return await list(call);
}

function versionIn({ params: { endpoint, version } }: Call<"endpoint" | "version">): number {
	if (/^[1-9]\d{0,8}$/.test(version)) return Number(version);
	throw new ApiError("release_not_found", { endpoint, version: version.slice(0, 20) });
}
