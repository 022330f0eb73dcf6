/**
 * `/metrics` for Prometheus (D40), limited to the key's endpoints. Gauges of jobs and workers cover all servers, the
 * rest only this one.
 */
import { EXPOSITION_TYPE } from "../../api/metrics.ts";
import type { Call } from "../exchange/call.ts";
import { familyOf } from "./definition.ts";
import { exposition } from "./exposition.ts";
import { AREAS } from "./families.ts";
import { scrapeOf } from "./scrape.ts";

export async function metrics(call: Call): Promise<void> {
	const scrape = await scrapeOf(call);
	const families = Object.values(AREAS).flat();
	const text = exposition(families.map((metric) => familyOf(metric, scrape)));
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
