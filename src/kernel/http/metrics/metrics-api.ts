/**
 * `/metrics` for Prometheus (D40), limited to the key's endpoints. Gauges of jobs and workers cover all servers, the
 * rest only this one.
 */
import { EXPOSITION_TYPE } from "../../api/metrics.ts";
import { may } from "../../engine/access/keys.ts";
import type { Call } from "../exchange/call.ts";
import { principalOf } from "../gates/auth.ts";
import { exposition } from "./exposition.ts";
import { familiesOf } from "./families.ts";

export async function metrics(call: Call): Promise<void> {
	const principal = principalOf(call);
	const text = exposition(await familiesOf(call, (endpoint) => may(principal, "read", endpoint)));
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
