/**
 * `/metrics` for Prometheus (D40), limited to the key's endpoints. Gauges of jobs and workers cover all servers, the
 * rest only this one.
 */
import { EXPOSITION_TYPE } from "./routes.ts";
import { may } from "../../kernel/engine/access/keys.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { exposition } from "./families/exposition.ts";
import { familiesOf } from "./families/families.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { Measured } from "./families/scrape.ts";

export async function prometheus(
	call: Call,
	{ measured, families }: { measured: Measured } & Pick<Kernel, "families">,
): Promise<void> {
	const principal = principalOf(call);
	const text = exposition(
		await familiesOf({ ...call, measured, families }, (endpoint) => may(principal, "read", endpoint)),
	);
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
