/** How far a batch is, how fast it moves, and when it should have ended. */
import type { ReactNode } from "react";
import type { BatchObject } from "../../client/shapes.ts";
import { Fact } from "../../parts/fact.tsx";
import { Ago } from "../../parts/time.tsx";
import { duration, number } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { moment } from "../files/file-calls.ts";
import { endedOf, isOver } from "./batch-calls.ts";
import { BatchProgress } from "./batch-progress.tsx";
import { type Reading, type Speed, speedOf } from "./speed.ts";

const { page } = T.batches;

/** Null for a batch that has ended before its requests were counted. */
export function ProgressCard({ batch, readings }: { batch: BatchObject; readings: readonly Reading[] }): ReactNode {
	const { total, completed, failed } = batch.request_counts;
	const over = isOver(batch);
	if (total === 0)
		return over ? null : (
			<section className="card stack">
				<h2>{page.progress}</h2>
				<p className="muted">{page.uncounted}</p>
			</section>
		);
	const speed = over ? undefined : speedOf(readings, total);
	return (
		<section className="card stack" aria-labelledby="batch-progress">
			<h2 id="batch-progress">{page.progress}</h2>
			<BatchProgress batch={batch} />
			<div className="fact-strip">
				<dl className="facts">
					<Fact name={page.completed}>{number(completed)}</Fact>
					<Fact name={page.failed}>{number(failed)}</Fact>
					<Fact name={page.left}>{number(Math.max(0, total - endedOf(batch)))}</Fact>
					{over ? (
						<Fact name={page.average}>{rateText(averageOf(batch))}</Fact>
					) : (
						<>
							<Fact name={page.rate}>{rateText(speed?.perMs)}</Fact>
							<Fact name={page.timeLeft}>
								<span title={page.timeLeftHint}>{leftText(speed)}</span>
							</Fact>
							{batch.expires_at === null ? null : (
								<Fact name={T.batches.expires}>
									<Ago at={moment(batch.expires_at)} />
								</Fact>
							)}
						</>
					)}
				</dl>
			</div>
		</section>
	);
}

/** Requests that ended per ms while it ran; undefined for one that did not run. */
function averageOf(batch: BatchObject): number | undefined {
	const { in_progress_at: from, finalizing_at, completed_at, failed_at, expired_at, cancelled_at } = batch;
	const to = finalizing_at ?? completed_at ?? failed_at ?? expired_at ?? cancelled_at;
	return from === null || to === null || to <= from ? undefined : endedOf(batch) / ((to - from) * 1000);
}

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

function rateText(perMs: number | undefined): string {
	if (perMs === undefined) return "–";
	return perMs > 0 && perMs * MINUTE_MS < 1
		? page.perHour(number(perMs * HOUR_MS))
		: page.perMinute(number(perMs * MINUTE_MS));
}

function leftText(speed: Speed | undefined): string {
	return speed?.leftMs === undefined ? "–" : duration(Math.round(speed.leftMs / 1000) * 1000);
}
