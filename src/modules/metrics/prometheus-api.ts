/**
 * `/metrics` for Prometheus (D40), limited to the key's endpoints. Gauges of jobs and workers cover all servers, the
 * rest only this one.
 */
import type { Clock } from "../../kernel/system/clock.ts";
import { EXPOSITION_TYPE } from "./routes.ts";
import { may } from "../../kernel/engine/access/keys.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { exposition } from "./families/exposition.ts";
import { familiesOf } from "./families/families.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { Measured } from "./families/scrape.ts";

/** Prometheus says in it how many seconds it waits for the answer. */
const SCRAPE_TIMEOUT = "x-prometheus-scrape-timeout-seconds";
const DEFAULT_TIMEOUT_S = 10;
/** A shorter wait counts as this: a late read is not charged, and reads that take less have their price. */
const SHORTEST_TIMEOUT_S = 1;
/** Share of the collector's wait. The rest is for the answer: without one no alert about a slow store could fire. */
const SHARE_OF_READS = 0.5;

export async function prometheus(
	call: Call,
	{ measured, families, clock }: { measured: Measured; clock: Clock } & Pick<Kernel, "families">,
): Promise<void> {
	const principal = principalOf(call);
	const read = new AbortController();
	const late = clock.sleep(longestReadMs(call.req.headers[SCRAPE_TIMEOUT]), read.signal).then(() => {
		// The store kept it waiting: the next scrape of the key must not wait for that too.
		if (!read.signal.aborted) call.holds.turn?.end(true);
	});
	const sees = (endpoint: string): boolean => may(principal, "read", endpoint);
	const text = exposition(await familiesOf({ ...call, measured, families, late }, sees).finally(() => read.abort()));
	call.res.writeHead(200, [
		"Content-Type",
		EXPOSITION_TYPE,
		"Content-Length",
		String(Buffer.byteLength(text)),
		"Cache-Control",
		"no-store",
	]);
	call.res.end(text);
}

/** How long reads of the store may take, ms. Without the header: as for Prometheus' default. */
function longestReadMs(header: unknown): number {
	const seconds = Number(header ?? DEFAULT_TIMEOUT_S) || DEFAULT_TIMEOUT_S;
	return 1000 * SHARE_OF_READS * Math.min(DEFAULT_TIMEOUT_S, Math.max(SHORTEST_TIMEOUT_S, seconds));
}
